//! What a transport hands over, parsed once and checked, so that every transport gives the same answers.
//! May import: nothing of this crate outside this room.

use async_graphql::parser::parse_query;
use async_graphql::parser::types::{DocumentOperations, ExecutableDocument, OperationDefinition, OperationType};
use async_graphql::{Positioned, Request, Response, ServerError, Variables};
use serde_json::{Map, Value};

use super::fault::{Code, server_error};
use super::limits::Limits;

/// A GraphQL request as it came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Incoming {
    /// The document; empty where only its hash was sent.
    pub query: String,
    /// The SHA-256 of the document, by which it is trusted.
    pub document_id: Option<String>,
    /// The operation, where the document has several.
    pub operation_name: Option<String>,
    /// Values of its variables.
    pub variables: Map<String, Value>,
}

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It reads.
    Query,
    /// It writes.
    Mutation,
    /// It follows.
    Subscription,
}

/// A request that can be executed.
#[derive(Debug)]
pub struct Prepared {
    /// For the schema.
    pub request: Request,
    /// What it does.
    pub kind: Kind,
}

/// What was prepared, as it came: a subscription is prepared again whenever it begins again.
impl From<Prepared> for Incoming {
    fn from(prepared: Prepared) -> Self {
        let Request { query, operation_name, variables, .. } = prepared.request;
        let Ok(Value::Object(variables)) = serde_json::to_value(variables) else { return Self::default() };
        Self { query, document_id: None, operation_name, variables }
    }
}

impl Incoming {
    /// Reads the members of a request: `query` text, `operationName` text or null, `variables` and `extensions`
    /// objects or null. `documentId`, or `sha256Hash` of the extension `persistedQuery`, may take the place of
    /// `query`. Others are ignored.
    ///
    /// # Errors
    /// The member that is not so.
    pub fn of_object(mut object: Map<String, Value>) -> Result<Self, ServerError> {
        let bad = |what: &str| Err(server_error(Code::BadRequest, what));
        let document_id = document_id(&object)?;
        let query = match object.remove("query") {
            Some(Value::String(query)) => query,
            None | Some(Value::Null) if document_id.is_some() => String::new(),
            _ => return bad("query must be a string"),
        };
        let operation_name = match object.remove("operationName") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(_) => return bad("operationName must be a string or null"),
        };
        let variables = match object.remove("variables") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(variables)) => variables,
            Some(_) => return bad("variables must be an object or null"),
        };
        match object.remove("extensions") {
            None | Some(Value::Null | Value::Object(_)) => {
                Ok(Self { query, document_id, operation_name, variables })
            }
            Some(_) => bad("extensions must be an object or null"),
        }
    }
}

fn document_id(object: &Map<String, Value>) -> Result<Option<String>, ServerError> {
    let persisted = object.get("extensions").and_then(|extensions| extensions.get("persistedQuery"));
    match object.get("documentId").or(persisted.and_then(|persisted| persisted.get("sha256Hash"))) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) => Ok(Some(id.clone())),
        Some(_) => Err(server_error(Code::BadRequest, "the hash of a document must be a string")),
    }
}

/// Parses and checks a request.
///
/// # Errors
/// The document is no GraphQL, passes a limit, has no such operation, or lacks a variable.
pub fn prepare(limits: &Limits, incoming: Incoming) -> Result<Prepared, ServerError> {
    limits.check_text(&incoming.query)?;
    if incoming.query.trim().is_empty() {
        return Err(server_error(Code::BadRequest, "query must not be empty"));
    }
    let document = parse_query(&incoming.query).map_err(|error| {
        let mut error = ServerError::from(error);
        error.extensions = server_error(Code::ParseFailed, "").extensions;
        error
    })?;
    limits.check_document(&document)?;
    let operation = operation(&document, incoming.operation_name.as_deref())?;
    check_variables(operation, &incoming.variables)?;
    let kind = match operation.node.ty {
        OperationType::Query => Kind::Query,
        OperationType::Mutation => Kind::Mutation,
        OperationType::Subscription => Kind::Subscription,
    };
    // A single named operation is filed as one of several; its name then selects it.
    let mut request = Request::new(incoming.query);
    request.operation_name = incoming.operation_name.filter(|name| !name.is_empty());
    request.variables = Variables::from_json(Value::Object(incoming.variables));
    request.set_parsed_query(document);
    Ok(Prepared { request, kind })
}

fn operation<'a>(
    document: &'a ExecutableDocument,
    name: Option<&str>,
) -> Result<&'a Positioned<OperationDefinition>, ServerError> {
    let unknown = |message: String| server_error(Code::ValidationFailed, message);
    match (&document.operations, name.filter(|name| !name.is_empty())) {
        (DocumentOperations::Single(only), None) => Ok(only),
        (DocumentOperations::Multiple(named), None) if named.len() == 1 => {
            named.values().next().ok_or_else(|| unknown("the document has no operation".into()))
        }
        (DocumentOperations::Multiple(_), None) => {
            Err(unknown("operationName is required: the document has several operations".into()))
        }
        (DocumentOperations::Multiple(named), Some(name)) => {
            named.get(name).ok_or_else(|| unknown(format!("there is no operation named {name:?}")))
        }
        (DocumentOperations::Single(_), Some(name)) => {
            Err(unknown(format!("there is no operation named {name:?}")))
        }
    }
}

/// A variable that must be given and is not would else fail only where it is used.
fn check_variables(
    operation: &Positioned<OperationDefinition>,
    values: &Map<String, Value>,
) -> Result<(), ServerError> {
    for definition in &operation.node.variable_definitions {
        let definition = &definition.node;
        let is_required = !definition.var_type.node.nullable && definition.default_value.is_none();
        let name = definition.name.node.as_str();
        let is_given = values.get(name).is_some_and(|value| !value.is_null());
        let is_null = values.get(name).is_some_and(Value::is_null);
        if (is_required && !is_given) || (is_null && !definition.var_type.node.nullable) {
            let message = format!("the variable ${name} of type {} must be given", definition.var_type.node);
            return Err(server_error(Code::ValidationFailed, message));
        }
    }
    Ok(())
}

/// Whether a response says that nothing was executed; such a response has no `data`.
pub fn is_request_error(response: &Response) -> bool {
    let is_early = response.errors.iter().all(|error| error.path.is_empty());
    !response.errors.is_empty() && response.data == async_graphql::Value::Null && is_early
}

/// Gives a code to every error that has none.
pub fn finish(mut response: Response) -> Response {
    for error in &mut response.errors {
        let is_coded = error.extensions.as_ref().is_some_and(|known| known.get("code").is_some());
        if !is_coded {
            let code = match error.message.as_str() {
                "Query is too complex." => Code::LimitExceeded,
                _ if error.path.is_empty() => Code::ValidationFailed,
                _ => Code::BadUserInput,
            };
            error.extensions = server_error(code, "").extensions;
        }
    }
    response
}
