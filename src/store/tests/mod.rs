//! Tests of the store against real files and a real PostgreSQL server. May import: the house below and the store's inside.

#![expect(clippy::disallowed_methods, reason = "tests spawn, and are told cases by the environment")]

mod check;
mod differential;
mod files;
mod lane;
mod model;
mod plans;
#[path = "../../../tests/support/postgres.rs"]
#[expect(dead_code, reason = "a proxy before it is for tests of the server")]
mod postgres;
mod schema;
mod servers;
mod support;

/// What both engines promise is written once and mounted for each.
#[path = "."]
mod on_sqlite {
    use super::support::{self, Home};

    async fn home() -> Home {
        Home::new().await
    }

    #[path = "contract.rs"]
    mod contract;
    #[path = "summaries.rs"]
    mod summaries;
}

#[path = "."]
mod on_postgres {
    use super::support::{self, Home};

    async fn home() -> Home {
        Home::on_postgres().await
    }

    #[path = "contract.rs"]
    #[expect(clippy::duplicate_mod, reason = "one text, two engines")]
    mod contract;
    #[path = "summaries.rs"]
    #[expect(clippy::duplicate_mod, reason = "one text, two engines")]
    mod summaries;
}
