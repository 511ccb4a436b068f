//! The types of the schema, one a file. May import: authority, access, store, lifecycle, ids.

mod clarification;
mod enums;
mod message;
mod node;
mod projection;
mod question;
mod refusal;
mod response;
mod scalars;
mod summary;
mod task;
mod task_session;
mod turn;
mod viewer;

pub(super) use clarification::Clarification;
pub(super) use enums::{
    ConflictReason, DeliveryFailure, ForegroundActivity, OutcomeStatus, PermissionDecision, Role, SessionState,
    TurnKind,
};
pub(super) use message::Message;
pub(super) use node::Node;
pub(super) use projection::PendingActionProjection;
pub(super) use refusal::{FieldError, InvalidInput, Member, NotFound, Refused};
pub(super) use response::ClarificationResponse;
pub(super) use scalars::DateTime;
pub(super) use task::Task;
pub(super) use task_session::TaskSession;
pub(super) use turn::Turn;
pub(super) use viewer::Viewer;
