//! What belongs to one place and is nowhere else. Tests are free of it. May import: source, code.

use crate::code;
use crate::source::Source;

struct Absence {
    /// In words, for who breaks it.
    rule: &'static str,
    words: &'static [&'static str],
    /// Where the words may stand.
    places: &'static [&'static str],
}

const ABSENCES: &[Absence] = &[
    Absence {
        rule: "SQL is known to the store only",
        words: &["diesel", "diesel_async", "diesel_migrations", "libsqlite3_sys"],
        places: &["src/store/"],
    },
    Absence {
        rule: "GraphQL is known to graphql and transport only",
        words: &["async_graphql", "async_graphql_axum"],
        places: &["src/graphql/", "src/transport/"],
    },
    Absence {
        rule: "MCP is known to its room and the demo's agent only",
        words: &["rmcp"],
        places: &["src/mcp/", "src/demo/agent.rs"],
    },
    Absence { rule: "the wall clock is a port", words: &["SystemTime", "UNIX_EPOCH"], places: &["src/ports.rs"] },
    Absence {
        rule: "a stopped clock stops tokio's Instant only",
        words: &["std::time::Instant", "time::{Duration, Instant}", "time::{Instant, Duration}"],
        places: &[],
    },
    Absence {
        rule: "randomness is a port",
        words: &["now_v7", "new_v4", "getrandom", "rand"],
        places: &["src/ports.rs"],
    },
    Absence {
        rule: "only the settings read the environment",
        words: &[
            "env::var",
            "env::var_os",
            "env::vars",
            "env::vars_os",
            "try_from_default_env",
            "from_default_env",
        ],
        places: &["src/config/"],
    },
    Absence {
        rule: "tasks are spawned by the tracker, so that a shutdown waits for them",
        words: &[
            "tokio::spawn",
            "task::spawn",
            "task::spawn_blocking",
            "task::spawn_local",
            "TaskTracker",
            "JoinSet",
            "LocalSet",
        ],
        // The engine waits for its own when the store is closed.
        places: &["src/tasks.rs", "src/store/postgres/mod.rs"],
    },
    Absence {
        rule: "threads are the store's",
        words: &["thread::spawn", "thread::Builder", "thread::scope"],
        places: &["src/store/sqlite/", "src/store/postgres/migrate.rs"],
    },
    Absence {
        rule: "every queue has a bound",
        words: &["unbounded_channel", "mpsc::unbounded", "unbounded", "UnboundedSender", "mpsc::channel()"],
        places: &[],
    },
    Absence { rule: "unsafe code needs a ruling first", words: &["unsafe"], places: &[] },
];

/// What the pure core does without.
const IMPURE: &[&str] = &[
    "async",
    "await",
    "tokio",
    "tracing",
    "std::fs",
    "std::net",
    "std::env",
    "std::time",
    "std::thread",
    "println!",
];

/// The words that stand where they must not.
pub fn check(source: &Source) -> Vec<String> {
    let mut breaches = Vec::new();
    let mut seen = |word: &str, rule: &str| {
        if let Some(at) = code::has(&source.code, word) {
            breaches.push(format!("{}:{}: {word}: {rule}", source.path, code::line(&source.code, at)));
        }
    };
    for absence in ABSENCES {
        let is_home = absence.places.iter().any(|place| source.path.starts_with(place));
        let words = absence.words.iter().filter(|_| !is_home);
        words.for_each(|word| seen(word, absence.rule));
    }
    if source.path.starts_with("src/lifecycle/") {
        IMPURE.iter().for_each(|word| seen(word, "the core is pure"));
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(path: &str, text: &str) -> bool {
        !check(&Source::new(path, text)).is_empty()
    }

    #[test]
    fn every_word_of_every_absence_is_seen_away_from_home() {
        for absence in ABSENCES {
            for word in absence.words {
                assert!(seen("src/authority/ask.rs", &format!("use x::{word};")), "{word}");
            }
        }
    }

    #[test]
    fn every_place_may_have_what_belongs_to_it() {
        for absence in ABSENCES {
            for place in absence.places {
                let file = format!("{}/x.rs", place.trim_end_matches('/').trim_end_matches(".rs"));
                let path = if place.ends_with('/') { file } else { (*place).to_owned() };
                for word in absence.words {
                    assert!(!seen(&path, &format!("use x::{word};")), "{word} in {path}");
                }
            }
        }
    }

    #[test]
    fn the_core_is_seen_to_be_impure_and_others_may_be() {
        for word in IMPURE {
            assert!(seen("src/lifecycle/turn.rs", &format!("{word} x")), "{word}");
        }
        assert!(!seen("src/authority/ask.rs", "async fn f() { g().await }"));
    }

    #[test]
    fn tests_and_prose_are_free() {
        assert!(!seen("src/ids.rs", "// tokio::spawn\n#[cfg(test)]\nmod tests { fn f() { tokio::spawn(g()); } }"));
    }
}
