//! One question of a bundle, and its answer. May import: access, lifecycle, ids.

use async_graphql::{Enum, ID, Object, SimpleObject};

use crate::access;
use crate::ids::SessionId;
use crate::lifecycle::{Choice, Question, Status};

/// Whether the answer to a question may be shown: anybody's who sees the question, unless it is secret; then only
/// the session's own agent's and theirs who gave it (decisions 29).
pub(crate) fn may_read_answer(viewer: &access::Viewer, session: &SessionId, question: &Question) -> bool {
    let is_agent = viewer.session.as_ref() == Some(session);
    let is_own = question.claim.as_ref().is_some_and(|claim| claim.principal == viewer.principal);
    !question.spec.secret || is_agent || is_own
}

/// Where a question stands.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub enum QuestionStatus {
    /// Nobody has decided it.
    Pending,
    /// It was answered. While the bundle is `DELIVERY_CLAIMED` this can still be taken back.
    Answered,
    /// It was skipped. While the bundle is `DELIVERY_CLAIMED` this can still be taken back.
    Rejected,
    /// Its session ended first.
    Expired,
    /// The asker withdrew it.
    Cancelled,
    /// A word that this server does not know; nobody can answer it.
    Other,
}

impl From<&Status> for QuestionStatus {
    fn from(status: &Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::Answered => Self::Answered,
            Status::Rejected => Self::Rejected,
            Status::Expired => Self::Expired,
            Status::Cancelled => Self::Cancelled,
            Status::Other(_) => Self::Other,
        }
    }
}

/// One choice of a question.
#[derive(SimpleObject)]
pub struct ClarificationOption {
    /// Its id inside the question; answers name it.
    id: ID,
    /// What a person reads.
    label: String,
    /// What it means; may be empty.
    description: String,
}

impl From<&Choice> for ClarificationOption {
    fn from(choice: &Choice) -> Self {
        Self {
            id: choice.id.as_str().into(),
            label: choice.label.clone(),
            description: choice.description.clone(),
        }
    }
}

/// What was said to one question.
#[derive(SimpleObject)]
pub struct ClarificationAnswer {
    /// Chosen options, in the question's order. Empty where masked.
    option_ids: Vec<ID>,
    /// Their labels. Empty where masked.
    selected: Vec<String>,
    /// Free text; null: none was written, or it is masked.
    custom_text: Option<String>,
    /// The question is secret and the caller neither gave this answer nor is the session's agent.
    is_masked: bool,
}

/// One question of a bundle.
pub struct ClarificationQuestion {
    pub(crate) row: Question,
    pub(crate) is_masked: bool,
}

/// One question of a bundle.
#[Object]
impl ClarificationQuestion {
    /// Its id inside the bundle; answers name it.
    async fn id(&self) -> ID {
        self.row.spec.id.as_str().into()
    }

    /// The transcript's message that it is.
    async fn message_id(&self) -> ID {
        self.row.id.as_str().into()
    }

    /// Its place in the bundle, from 0.
    async fn index(&self) -> i32 {
        i32::try_from(self.row.index).unwrap_or(i32::MAX)
    }

    /// A short heading; may be empty.
    async fn title(&self) -> &str {
        &self.row.spec.title
    }

    /// The question.
    async fn prompt(&self) -> &str {
        &self.row.spec.prompt
    }

    /// Several options may be chosen.
    async fn multi_select(&self) -> bool {
        self.row.spec.multi_select
    }

    /// A free text may be written, at most 2,000 code points.
    async fn allow_custom_text(&self) -> bool {
        self.row.spec.allow_custom_text
    }

    /// Its answer is shown to the session's agent and to who gave it only.
    async fn secret(&self) -> bool {
        self.row.spec.secret
    }

    /// None, or two to six choices.
    async fn options(&self) -> Vec<ClarificationOption> {
        self.row.spec.options.iter().map(ClarificationOption::from).collect()
    }

    /// Where it stands.
    async fn status(&self) -> QuestionStatus {
        (&self.row.status).into()
    }

    /// What was said; null: nothing, or it is still being delivered.
    async fn answer(&self) -> Option<ClarificationAnswer> {
        let answer = self.row.answer.as_ref().filter(|_| !self.row.has_intent())?;
        if self.is_masked {
            let (option_ids, selected) = (Vec::new(), Vec::new());
            return Some(ClarificationAnswer { option_ids, selected, custom_text: None, is_masked: true });
        }
        let chosen = || self.row.spec.options.iter().filter(|option| answer.option_ids.contains(&option.id));
        Some(ClarificationAnswer {
            option_ids: chosen().map(|option| option.id.as_str().into()).collect(),
            selected: chosen().map(|option| option.label.clone()).collect(),
            custom_text: answer.custom_text.clone(),
            is_masked: false,
        })
    }
}
