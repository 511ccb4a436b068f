//! Looks for what breaks an invariant, in one snapshot. May import: the store's shared parts.

use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;

use crate::store::check::{PAGES, Rule, UNREADABLE, Violation, rules};
use crate::store::error::Error;
use crate::store::records::TurnRecord;
use crate::store::schema::task_session_turns as turns;

use super::{Conn, seam};

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = Text)]
    found: String,
}

/// Every violation, by invariant and rows.
pub(in crate::store) async fn violations(conn: &mut Conn) -> Result<Vec<Violation>, Error> {
    let mut all = unreadable(conn).await?;
    for rule in rules() {
        all.extend(broken(conn, rule).await?);
    }
    for damage in seam::damage(conn).await? {
        all.push(Violation { invariant: PAGES.0, says: PAGES.1, rows: damage });
    }
    all.sort();
    Ok(all)
}

async fn broken(conn: &mut Conn, rule: &Rule) -> Result<Vec<Violation>, Error> {
    let found: Vec<Found> = diesel::sql_query(rule.sql).load(conn).await?;
    let of = |found: Found| Violation { invariant: rule.invariant, says: rule.says, rows: found.found };
    Ok(found.into_iter().map(of).collect())
}

/// Reservations whose recovery metadata the domain's reader refuses (CP-55).
async fn unreadable(conn: &mut Conn) -> Result<Vec<Violation>, Error> {
    let reserved = turns::table.filter(turns::is_reserved).select((turns::session_id, TurnRecord::as_select()));
    let rows: Vec<(String, TurnRecord)> = reserved.load(conn).await?;
    let mut found = Vec::new();
    for (session, row) in rows {
        let turn = row.read()?;
        if let Some(reason) = turn.malformed {
            let rows = format!("session {session}, turn {}: {reason}", turn.id);
            found.push(Violation { invariant: UNREADABLE.0, says: UNREADABLE.1, rows });
        }
    }
    Ok(found)
}
