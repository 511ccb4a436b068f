//! `answerable check`: what must hold of a database, and does not. May import: store.

use serde_json::json;

use crate::store::{NOT_SHOWN, Violation, shown};

use super::{Error, open_to_read};

/// Prints a line per violation, then how many there are. It reads only: a server may run on the database.
///
/// # Errors
/// [`Error::Violations`], if there is one; the database cannot be read.
pub async fn check(database: &str, is_json: bool) -> Result<(), Error> {
    let store = open_to_read(database).await?;
    let found = store.check().await?;
    store.close().await?;
    print!("{}", if is_json { as_json(&found) } else { as_text(&found) });
    if found.is_empty() { Ok(()) } else { Err(Error::Violations(found.len())) }
}

fn as_text(found: &[Violation]) -> String {
    let line = |v: &Violation| format!("{} {}: {}\n", v.invariant, v.rows, v.says);
    found.iter().map(line).collect::<String>() + &format!("violations={}\n", found.len())
}

/// The same with what was looked for, and what no database can show.
fn as_json(found: &[Violation]) -> String {
    let violation = |v: &Violation| json!({ "invariant": v.invariant, "rows": v.rows, "says": v.says });
    let looked_for = |(invariant, says): (&str, &str)| json!({ "invariant": invariant, "violated": says });
    let not_shown = |(invariant, why): &(&str, &str)| json!({ "invariant": invariant, "because": why });
    let all = json!({
        "violations": found.iter().map(violation).collect::<Vec<_>>(),
        "checked": shown().into_iter().map(looked_for).collect::<Vec<_>>(),
        "notShown": NOT_SHOWN.iter().map(not_shown).collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}
