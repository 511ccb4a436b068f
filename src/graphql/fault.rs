//! Errors at the top level: faults, and requests that are not well formed. What the domain refuses is a member of
//! a union instead. May import: authority, lifecycle.

use async_graphql::{Error, ErrorExtensionValues, ServerError};

use crate::authority;
use crate::lifecycle::Refusal;

/// What `extensions.code` may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The document cannot be parsed.
    ParseFailed,
    /// The document does not fit the schema.
    ValidationFailed,
    /// A limit of requests was passed.
    LimitExceeded,
    /// The request is not a GraphQL request.
    BadRequest,
    /// An argument has a value that is not allowed.
    BadUserInput,
    /// No trusted document has that hash.
    DocumentUnknown,
    /// Only trusted documents are executed, and this is none.
    DocumentUntrusted,
    /// No valid credentials.
    Unauthenticated,
    /// The role may not do that.
    Forbidden,
    /// A subscription names what is absent or not the caller's.
    NotFound,
    /// Too much is waiting.
    Busy,
    /// Not done in time.
    Timeout,
    /// The store cannot be used.
    Unavailable,
    /// The server is going away.
    ShuttingDown,
    /// A defect.
    Internal,
}

impl Code {
    /// Every code, in the order of the table.
    pub const ALL: [Self; 15] = [
        Self::ParseFailed,
        Self::ValidationFailed,
        Self::LimitExceeded,
        Self::BadRequest,
        Self::BadUserInput,
        Self::DocumentUnknown,
        Self::DocumentUntrusted,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotFound,
        Self::Busy,
        Self::Timeout,
        Self::Unavailable,
        Self::ShuttingDown,
        Self::Internal,
    ];

    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ParseFailed => "GRAPHQL_PARSE_FAILED",
            Self::ValidationFailed => "GRAPHQL_VALIDATION_FAILED",
            Self::LimitExceeded => "LIMIT_EXCEEDED",
            Self::BadRequest => "BAD_REQUEST",
            Self::BadUserInput => "BAD_USER_INPUT",
            Self::DocumentUnknown => "PERSISTED_QUERY_NOT_FOUND",
            Self::DocumentUntrusted => "DOCUMENT_NOT_TRUSTED",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Forbidden => "FORBIDDEN",
            Self::NotFound => "NOT_FOUND",
            Self::Busy => "BUSY",
            Self::Timeout => "TIMEOUT",
            Self::Unavailable => "UNAVAILABLE",
            Self::ShuttingDown => "SHUTTING_DOWN",
            Self::Internal => "INTERNAL",
        }
    }

    /// Whether the same request may be sent again and can then succeed.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Busy | Self::Timeout | Self::Unavailable | Self::ShuttingDown)
    }

    /// When it comes, for the README.
    fn meaning(self) -> &'static str {
        match self {
            Self::ParseFailed => "The document is not GraphQL.",
            Self::ValidationFailed => "The document does not fit the schema, or a variable its type.",
            Self::LimitExceeded => {
                "The request is too large, too deep or too costly; `limit` says how much is allowed."
            }
            Self::BadRequest => "The body or the query string is not a GraphQL request.",
            Self::BadUserInput => "An argument has a value that is not allowed; `argument` and `limit` say which.",
            Self::DocumentUnknown => "No trusted document has that hash; send the document itself.",
            Self::DocumentUntrusted => "Only trusted documents are executed here, and this is none.",
            Self::Unauthenticated => {
                "There is no token, or it is unknown, expired, revoked or its session is over."
            }
            Self::Forbidden => "The token's role may not do this, whatever it names.",
            Self::NotFound => {
                "A subscription names a session that is absent or not yours, which is one answer, or an executor without workers."
            }
            Self::Busy => "Too much is waiting. Nothing was written; ask again a little later.",
            Self::Timeout => "Not done in time. It may have happened: send it again with the same `clientKey`.",
            Self::Unavailable => "The store cannot be used now. Ask again later.",
            Self::ShuttingDown => "The server is going away. Ask again when it is back.",
            Self::Internal => "A defect of the server; its log says more.",
        }
    }

    /// The words that a caller sees of a fault.
    fn message(self) -> &'static str {
        match self {
            Self::Unauthenticated => "no valid credentials",
            Self::Forbidden => "this role may not do that",
            Self::NotFound => "not found",
            Self::Busy => "too much is waiting; ask again a little later",
            Self::Timeout => "not done in time; send it again with the same clientKey",
            Self::Unavailable => "the store cannot be used now; ask again later",
            Self::ShuttingDown => "the server is going away; ask again when it is back",
            _ => "the server met a defect",
        }
    }
}

/// The table of error codes of the README.
pub fn error_table() -> String {
    let row = |code: Code| {
        let retryable = if code.is_retryable() { "yes" } else { "no" };
        format!("| `{}` | {retryable} | {} |\n", code.as_str(), code.meaning())
    };
    let rows: String = Code::ALL.into_iter().map(row).collect();
    format!("| `extensions.code` | retryable | when |\n|---|---|---|\n{rows}")
}

/// The code of a failed use case. A refusal has one only where no union can carry it.
fn code_of(error: &authority::Error) -> Code {
    match error {
        authority::Error::Refused(Refusal::NotFound) => Code::NotFound,
        authority::Error::Refused(Refusal::Invalid(_)) => Code::BadUserInput,
        authority::Error::Refused(_) => Code::Internal,
        authority::Error::Unauthenticated => Code::Unauthenticated,
        authority::Error::Forbidden => Code::Forbidden,
        authority::Error::Fault(fault) => match fault.code {
            authority::FaultCode::Busy => Code::Busy,
            authority::FaultCode::Timeout => Code::Timeout,
            authority::FaultCode::Unavailable => Code::Unavailable,
            authority::FaultCode::ShuttingDown => Code::ShuttingDown,
            authority::FaultCode::Internal => Code::Internal,
        },
    }
}

/// A failed use case as a field's error. Its own words go to the log only.
pub(super) fn fault(error: authority::Error) -> Error {
    let code = code_of(&error);
    if let authority::Error::Fault(fault) = &error {
        tracing::warn!(%fault, "a request failed");
    }
    coded(code, code.message())
}

/// A field's error of that code.
pub(super) fn coded(code: Code, message: impl Into<String>) -> Error {
    Error { message: message.into(), source: None, extensions: Some(extensions(code)) }
}

/// An argument's error, with the limit that it passed.
pub(super) fn bad_argument(argument: &str, limit: i64, message: String) -> Error {
    let mut error = coded(Code::BadUserInput, message);
    if let Some(extensions) = &mut error.extensions {
        extensions.set("argument", argument);
        extensions.set("limit", limit);
    }
    error
}

/// Whether an error says one of these codes.
pub fn has_code(error: &ServerError, codes: &[Code]) -> bool {
    said(error).is_some_and(|code| codes.contains(&code))
}

/// The code that an error says.
pub fn said(error: &ServerError) -> Option<Code> {
    match error.extensions.as_ref()?.get("code")? {
        async_graphql::Value::String(said) => Code::ALL.into_iter().find(|code| code.as_str() == said),
        _ => None,
    }
}

/// A request's error of that code.
pub fn server_error(code: Code, message: impl Into<String>) -> ServerError {
    let mut error = ServerError::new(message, None);
    error.extensions = Some(extensions(code));
    error
}

/// A failed use case as a request's error, and its code.
pub fn failure(error: &authority::Error) -> (Code, ServerError) {
    let code = code_of(error);
    (code, server_error(code, code.message()))
}

fn extensions(code: Code) -> ErrorExtensionValues {
    let mut extensions = ErrorExtensionValues::default();
    extensions.set("code", code.as_str());
    extensions.set("retryable", code.is_retryable());
    extensions
}
