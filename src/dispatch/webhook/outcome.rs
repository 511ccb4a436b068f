//! What a response, or its absence, proves (design: agents). Two tables, and nothing else decides.
//! May import: dispatch.

use crate::dispatch::{Outcome, Revocation};

/// What became of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happened {
    /// No byte of it left: it could not be built, or no connection came to be.
    NotSent,
    /// It may have left whole, and no response came: time ran out, or the connection ended.
    Lost,
    /// A response came.
    Answered {
        /// Its status.
        status: u16,
        /// What its JSON body says under `accepted`, if it does.
        accepted: Option<bool>,
    },
}

/// What a POST proves. `was_posted`: the same id was posted before and nobody can tell what came of that; then only
/// an acceptance proves anything.
pub(super) fn of_post(happened: &Happened, was_posted: bool) -> Outcome {
    let known = match *happened {
        Happened::NotSent => rejected("The endpoint cannot be reached.".into()),
        Happened::Lost => unknown("no response came".into()),
        Happened::Answered { status, accepted } => of_status(status, accepted, was_posted),
    };
    match known {
        Outcome::Rejected { reason } if was_posted => unknown(reason),
        known => known,
    }
}

fn of_status(status: u16, accepted: Option<bool>, was_posted: bool) -> Outcome {
    match (status, accepted) {
        (200..=299, _) => Outcome::Accepted,
        (409, _) if was_posted => Outcome::Accepted,
        (409 | 503, Some(false)) => rejected(format!("The endpoint answered {status}: not accepted.")),
        // A redirect that keeps the method was not processed here, and is not followed.
        (307 | 308 | 400 | 401 | 403 | 404 | 405 | 410 | 413 | 415 | 422 | 429, _) => {
            rejected(format!("The endpoint answered {status}."))
        }
        _ => unknown(format!("the endpoint answered {status}")),
    }
}

/// What a DELETE of an unacknowledged dispatch proves. 404 proves nothing: the POST may still be on its way.
pub(super) fn of_delete(happened: &Happened) -> Revocation {
    match *happened {
        // 202 says that it will be looked at.
        Happened::Answered { status: 200 | 204, .. } => Revocation::Revoked,
        Happened::Answered { status: 409, .. } => Revocation::AlreadyAccepted,
        _ => Revocation::Unknown,
    }
}

fn rejected(reason: String) -> Outcome {
    Outcome::Rejected { reason }
}

fn unknown(reason: String) -> Outcome {
    Outcome::Unknown { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSALS: [u16; 12] = [307, 308, 400, 401, 403, 404, 405, 410, 413, 415, 422, 429];

    #[derive(Debug, PartialEq, Eq)]
    enum Kind {
        Accepted,
        Rejected,
        Unknown,
    }

    fn post(status: u16, accepted: Option<bool>, was_posted: bool) -> Kind {
        kind(of_post(&Happened::Answered { status, accepted }, was_posted))
    }

    fn kind(outcome: Outcome) -> Kind {
        match outcome {
            Outcome::Accepted => Kind::Accepted,
            Outcome::Rejected { .. } => Kind::Rejected,
            Outcome::Unknown { .. } => Kind::Unknown,
        }
    }

    /// The table of the design, written once more: every status, each body, first and later POSTs.
    #[test]
    fn every_status_means_what_the_table_says() {
        for status in 100..=599 {
            for accepted in [None, Some(true), Some(false)] {
                let is_denied = accepted == Some(false) && matches!(status, 409 | 503);
                let first = match status {
                    200..=299 => Kind::Accepted,
                    _ if REFUSALS.contains(&status) || is_denied => Kind::Rejected,
                    _ => Kind::Unknown,
                };
                assert_eq!(post(status, accepted, false), first, "{status} {accepted:?}");
                let is_taken = (200..=299).contains(&status) || status == 409;
                let later = if is_taken { Kind::Accepted } else { Kind::Unknown };
                assert_eq!(post(status, accepted, true), later, "{status} {accepted:?} again");
            }
        }
    }

    #[test]
    fn what_never_left_is_rejected_and_what_was_lost_is_unknown() {
        assert_eq!(kind(of_post(&Happened::NotSent, false)), Kind::Rejected);
        assert_eq!(kind(of_post(&Happened::Lost, false)), Kind::Unknown);
        for happened in [Happened::NotSent, Happened::Lost] {
            assert_eq!(kind(of_post(&happened, true)), Kind::Unknown, "the first POST may have arrived");
        }
    }

    #[test]
    fn only_a_plain_success_proves_a_revocation() {
        for status in 100..=599 {
            let known = of_delete(&Happened::Answered { status, accepted: None });
            let expected = match status {
                200 | 204 => Revocation::Revoked,
                409 => Revocation::AlreadyAccepted,
                _ => Revocation::Unknown,
            };
            assert_eq!(known, expected, "{status}");
        }
        assert_eq!(of_delete(&Happened::Lost), Revocation::Unknown);
        assert_eq!(of_delete(&Happened::NotSent), Revocation::Unknown);
    }
}
