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
        Value::String(text(self.0))
    }
}

impl From<Micros> for DateTime {
    fn from(micros: Micros) -> Self {
        Self(micros)
    }
}

const DAY_US: i64 = 86_400_000_000;

fn text(Micros(micros): Micros) -> String {
    let (days, rest) = (micros.div_euclid(DAY_US), micros.rem_euclid(DAY_US));
    let (year, month, day) = date(days);
    let (seconds, us) = (rest / 1_000_000, rest % 1_000_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{us:06}Z")
}

/// The Gregorian date of a day counted from 1970-01-01. Years are counted from a first of March, so that the leap
/// day is the last of its year; 400 of them have 146,097 days.
fn date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_read_as_they_are_written() {
        let cases = [
            (0, "1970-01-01T00:00:00.000000Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (1_709_251_199_999_999, "2024-02-29T23:59:59.999999Z"),
            (1_796_199_460_000_123, "2026-12-02T08:17:40.000123Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
        ];
        for (micros, expected) in cases {
            assert_eq!(text(Micros(micros)), expected);
        }
    }
}
