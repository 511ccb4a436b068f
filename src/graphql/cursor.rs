//! Opaque cursors: of pages, which name the last row seen, and of subscriptions, which name a place in the log.
//! May import: authority, ids.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};

use crate::authority::{Place, Since};
use crate::ids::{MessageId, Micros, Ordinal, PendingId, Position, StoreId, TaskId};
use crate::store::{MessageKey, TaskKey};

use super::base64::{decode, encode};

/// Opaque place in the stream of changes, base64 text. It survives restarts of the server. Send it back as `after`
/// to go on right behind it. What cannot be gone on from is answered with a `Gap`, never with silence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor(pub(super) String);

/// Opaque place in the stream of changes, base64 text. It survives restarts of the server. Send it back as `after`
/// to go on right behind it. What cannot be gone on from is answered with a `Gap`, never with silence.
#[Scalar]
impl ScalarType for Cursor {
    fn parse(value: Value) -> InputValueResult<Self> {
        match value {
            Value::String(text) => Ok(Self(text)),
            other => Err(InputValueError::expected_type(other)),
        }
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.clone())
    }
}

impl From<&Place> for Cursor {
    fn from(place: &Place) -> Self {
        Self(encode(format!("{}:{}", place.position, place.store).as_bytes()))
    }
}

impl Cursor {
    /// Where to go on.
    pub(super) fn since(after: Option<&Self>) -> Since {
        let Some(Self(text)) = after else { return Since::Now };
        let place = parts(text).and_then(|(position, store)| {
            let position = position.parse().ok().filter(|position| *position >= 0)?;
            Some(Place { store: StoreId::new(store), position: Position(position) })
        });
        place.map_or(Since::Unreadable, Since::After)
    }
}

/// A key of a list, as a page's cursor carries it.
pub(super) trait Key: Sized {
    fn write(&self) -> String;
    fn read(text: &str) -> Option<Self>;
}

fn parts(text: &str) -> Option<(String, String)> {
    let text = String::from_utf8(decode(text)?).ok()?;
    text.split_once(':').map(|(number, id)| (number.to_owned(), id.to_owned()))
}

fn write(number: i64, id: &str) -> String {
    encode(format!("{number}:{id}").as_bytes())
}

fn read(text: &str) -> Option<(i64, String)> {
    let (number, id) = parts(text)?;
    Some((number.parse().ok()?, id))
}

impl Key for TaskKey {
    fn write(&self) -> String {
        write(self.last_activity_at.0, self.id.as_str())
    }

    fn read(text: &str) -> Option<Self> {
        read(text).map(|(at, id)| Self { last_activity_at: Micros(at), id: TaskId::new(id) })
    }
}

impl Key for MessageKey {
    fn write(&self) -> String {
        write(self.created_at.0, self.id.as_str())
    }

    fn read(text: &str) -> Option<Self> {
        read(text).map(|(at, id)| Self { created_at: Micros(at), id: MessageId::new(id) })
    }
}

impl Key for (Micros, PendingId) {
    fn write(&self) -> String {
        write(self.0.0, self.1.as_str())
    }

    fn read(text: &str) -> Option<Self> {
        read(text).map(|(at, id)| (Micros(at), PendingId::new(id)))
    }
}

impl Key for Ordinal {
    fn write(&self) -> String {
        write(self.0, "")
    }

    fn read(text: &str) -> Option<Self> {
        read(text).map(|(ordinal, _)| Self(ordinal))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_place_is_read_back_as_it_was_written(position in 0..i64::MAX, store in "[a-z0-9:-]{0,36}") {
            let place = Place { store: StoreId::new(store), position: Position(position) };
            prop_assert_eq!(Cursor::since(Some(&Cursor::from(&place))), Since::After(place));
        }

        #[test]
        fn any_text_is_a_place_or_unreadable(text in ".{0,60}") {
            let _ = Cursor::since(Some(&Cursor(text)));
        }

        #[test]
        fn a_page_goes_on_from_the_key_it_ended_with(at in any::<i64>(), id in ".{0,40}") {
            let key = (Micros(at), PendingId::new(id));
            prop_assert_eq!(Key::read(&key.write()), Some(key));
        }
    }

    #[test]
    fn whatever_comes_as_a_cursor_is_a_place_that_is_written_the_same_or_none() {
        crate::fuzz::fuzz("cursors", 20_000, |bytes| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            if let Since::After(place) = Cursor::since(Some(&Cursor(text.clone()))) {
                assert!(place.position.0 >= 0);
                assert_eq!(Cursor::since(Some(&Cursor::from(&place))), Since::After(place));
            }
            let key: Option<(Micros, PendingId)> = Key::read(&text);
            assert_eq!(key.as_ref().and_then(|key| Key::read(&key.write())), key);
        });
    }
}
