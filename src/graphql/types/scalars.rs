//! Moments. May import: ids.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};

use crate::ids::Micros;

/// A moment in UTC with microseconds, as in `2026-12-01T09:30:00.000000Z` (RFC 3339).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateTime(pub(crate) Micros);

/// A moment in UTC with microseconds, as in `2026-12-01T09:30:00.000000Z` (RFC 3339).
#[Scalar]
impl ScalarType for DateTime {
    fn parse(value: Value) -> InputValueResult<Self> {
        Err(InputValueError::expected_type(value))
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.rfc3339())
    }
}

impl From<Micros> for DateTime {
    fn from(micros: Micros) -> Self {
        Self(micros)
    }
}
