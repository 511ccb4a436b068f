//! The specification as pure code: no I/O, clock, randomness or async. May import: ids.
//!
//! [`decide`] takes what is known of one session ([`SessionView`]), what is asked ([`Command`]) and when
//! ([`Stamp`]), and returns what changes ([`Decision`]) or why nothing does ([`Refusal`]).

mod change;
mod command;
mod decide;
mod decision;
mod event;
#[cfg(test)]
mod fixtures;
mod metadata;
mod outcome;
mod prompt;
#[cfg(test)]
mod prompt_tests;
mod question;
mod refusal;
#[cfg(test)]
mod search;
mod session;
mod standing;
mod summary;
mod turn;
mod validate;
#[cfg(test)]
mod validate_tests;
mod view;

pub use change::{Change, MessageRow, QuestionGuard, TurnGuard};
pub use command::{
    AcceptTurn, Admission, Ask, Certainty, Command, ExpectedTurn, Focus, FocusScope, Keyed, NewMessage, Respond,
    Skip, Stamp,
};
pub use decide::decide;
pub use decision::{ClaimFate, ClaimTicket, Decision, Effect, Outcome, OutcomeStatus, Recovery, SpokenAnswer};
pub use event::{Event, EventKind, OutboxRow};
pub use metadata::{
    PERMISSION_KIND, QUESTION_KIND, QuestionColumns, is_flag, permission_metadata, public_metadata,
    question_metadata, read_question, read_turn, turn_metadata,
};
pub use outcome::{claim_fate, outcome, spoken_answers};
pub use prompt::answer_prompt;
pub use question::{Answer, Bundle, Choice, Claim, Question, QuestionSpec, Status};
pub use refusal::{ConflictReason, FieldCode, FieldError, Refusal, Winner};
pub use session::{Session, SessionState};
pub use summary::{
    ForegroundActivity, Patch, RevisionSpent, Summary, SummaryPatch, TaskError, TaskFacts, task_pending,
};
pub use turn::{ClaimRef, DispatchOutcome, Lease, Reservation, Turn, TurnEnd, TurnKind, Watchdog};
pub use validate::{
    ANSWER_CHARS_MAX, DESCRIPTION_CHARS_MAX, LABEL_CHARS_MAX, OPTIONS_MAX, OPTIONS_MIN, OptionInput,
    PROMPT_CHARS_MAX, QUESTIONS_MAX, QuestionInput, canonical_questions, check_answers, check_bundle_size,
    check_reason,
};
pub use view::{
    BundleState, KeyRecord, KeyResult, KeyScope, MessageRef, PendingAction, Permission, SessionView, TaskRef,
    Waiter, bundle_state,
};
