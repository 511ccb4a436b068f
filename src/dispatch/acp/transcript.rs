//! What an agent says in one turn, as messages: pieces that follow each other grow one message, written in batches;
//! everything has a bound. May import: dispatch, ids.

use crate::dispatch::{Output, Said};
use crate::ids::{MessageId, SessionId, TurnId};

use super::dialect::Update;

/// What a message counts at least: many small ones are as many rows.
const MESSAGE_COST: usize = 64;

/// Characters that an agent may say.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// In one message.
    pub message_chars_max: usize,
    /// In one turn.
    pub turn_chars_max: usize,
}

/// The open end of a turn's transcript.
#[derive(Debug)]
pub(super) struct Transcript {
    session_id: SessionId,
    turn_id: TurnId,
    room: Room,
    said: usize,
    open: Option<Growing>,
}

#[derive(Debug)]
struct Growing {
    kind: &'static str,
    id: Option<String>,
    text: String,
    chars: usize,
    saved: Option<MessageId>,
    is_saved: bool,
}

impl Transcript {
    pub(super) fn new(session_id: SessionId, turn_id: TurnId, room: Room) -> Self {
        Self { session_id, turn_id, room, said: 0, open: None }
    }

    /// Something of it is not written yet.
    pub(super) fn is_behind(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.is_saved)
    }

    /// Takes what the agent says.
    pub(super) async fn take(&mut self, update: Update, output: &dyn Output) {
        match update {
            Update::Piece { kind, id, text } => self.piece(kind, id, &text, output).await,
            Update::Whole { kind, id, text } => {
                match self.open.as_mut().filter(|open| id.is_some() && open.id == id && open.kind == kind) {
                    Some(open) => {
                        open.text.clear();
                        open.chars = 0;
                    }
                    None => self.close(output).await,
                }
                self.piece(kind, id, &text, output).await;
            }
            Update::Works | Update::Begins | Update::Rests | Update::Aside => {}
        }
    }

    async fn piece(&mut self, kind: &'static str, id: Option<String>, text: &str, output: &dyn Output) {
        let mut left = text.chars().map(|c| if c == '\0' { char::REPLACEMENT_CHARACTER } else { c }).peekable();
        while left.peek().is_some() {
            if self.said >= self.room.turn_chars_max {
                return;
            }
            let max = self.room.message_chars_max;
            if self.open.as_ref().is_some_and(|o| o.kind != kind || o.id != id || o.chars >= max) {
                self.close(output).await;
            }
            let said = &mut self.said;
            let open = self.open.get_or_insert_with(|| {
                *said = said.saturating_add(MESSAGE_COST);
                Growing { kind, id: id.clone(), text: String::new(), chars: 0, saved: None, is_saved: true }
            });
            let part: String = left.by_ref().take(max.saturating_sub(open.chars).max(1)).collect();
            let count = part.chars().count();
            open.text.push_str(&part);
            open.chars = open.chars.saturating_add(count);
            open.is_saved = false;
            self.said = self.said.saturating_add(count);
            self.cut(output).await;
        }
    }

    /// Says once that the rest of the turn is left out.
    async fn cut(&mut self, output: &dyn Output) {
        if self.said >= self.room.turn_chars_max {
            self.close(output).await;
            let max = self.room.turn_chars_max;
            let text = format!("The agent said more than {max} characters; the rest is left out.");
            self.note(text, output).await;
        }
    }

    /// Writes what is not written yet. What cannot be written is lost, and the log says so.
    pub(super) async fn write(&mut self, output: &dyn Output) {
        let Some(open) = self.open.as_mut().filter(|open| !open.is_saved) else { return };
        open.is_saved = true;
        let (session, content) = (self.session_id.clone(), open.text.clone());
        let written = match open.saved.clone() {
            Some(message) => output.extend(session, message, content).await,
            None => {
                let (turn_id, kind) = (self.turn_id.clone(), open.kind);
                let said = Said { session_id: session, turn_id, author: "agent", kind, content };
                output.append(said).await.map(|id| open.saved = Some(id))
            }
        };
        if let Err(error) = written {
            tracing::warn!(turn.id = %self.turn_id, %error, "what an agent said was not written");
        }
    }

    /// Writes, and begins a new message with what comes next.
    pub(super) async fn close(&mut self, output: &dyn Output) {
        self.write(output).await;
        self.open = None;
    }

    /// Says something about the agent.
    pub(super) async fn note(&self, content: String, output: &dyn Output) {
        let (session_id, turn_id) = (self.session_id.clone(), self.turn_id.clone());
        let said = Said { session_id, turn_id, author: "system", kind: "message", content };
        if let Err(error) = output.append(said).await {
            tracing::warn!(turn.id = %self.turn_id, %error, "a note about an agent was not written");
        }
    }
}
