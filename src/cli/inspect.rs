//! `answerable inspect`: what is open in a database, and what will become of it. It reads only.
//! May import: store, lifecycle, ids, ports.

use crate::ids::{Epoch, SessionId};
use crate::lifecycle::{
    Bundle, Command, Effect, Focus, Recovery, Refusal, SessionView, Stamp, Turn, Waiter, decide,
};
use crate::ports::{Clock, IdSource, System};
use crate::store::{Store, TurnRow};

use super::{Error, open_to_read};

/// Items of one kind that are listed; more are told by their number in the last line of `check`.
const LISTED_MAX: i64 = 1_000;

/// How many of each there are.
#[derive(Default)]
struct Totals {
    claims: usize,
    reservations: usize,
    malformed: usize,
}

/// Prints open claims, reservations, dispatches of unknown outcome and rows that cannot be read, each with what
/// becomes of it, and a last line with their numbers.
///
/// # Errors
/// The database cannot be read.
pub async fn inspect(database: &str) -> Result<(), Error> {
    let store = open_to_read(database).await?;
    let mut totals = Totals::default();
    let mut lines = Vec::new();
    for id in store.sessions_to_recover().await? {
        let mut view = store.view(&id, Focus::default()).await?;
        view.dead_epochs = owners(&view);
        lines.extend(open_work(&id, &view, &mut totals));
    }
    let ambiguous = store.ambiguous(LISTED_MAX).await?;
    lines.extend(ambiguous.iter().flat_map(unknown_outcome));
    let inert = inert_questions(&store, &mut lines).await?;
    store.close().await?;
    lines.iter().for_each(|line| println!("{line}"));
    println!(
        "claims={} reservations={} ambiguous={} malformed={} inert={inert}",
        totals.claims,
        totals.reservations,
        ambiguous.len(),
        totals.malformed
    );
    Ok(())
}

/// Everything that owns something here: at the next start its server is gone.
fn owners(view: &SessionView) -> Vec<Epoch> {
    let claims = view.bundles.iter().filter_map(|bundle| Some(bundle.open_claim()?.epoch));
    let reservations = view.turns.iter().filter_map(|turn| Some(turn.reservation.as_ref()?.epoch));
    let waiters = view.waiters.iter().map(|waiter: &Waiter| waiter.epoch);
    claims.chain(reservations).chain(waiters).collect()
}

fn open_work(id: &SessionId, view: &SessionView, totals: &mut Totals) -> Vec<String> {
    let state = view.session.as_ref().map_or("gone", |session| session.state.as_str());
    let mut lines = vec![format!("session {id} ({state})")];
    let claims: Vec<_> = view.bundles.iter().filter_map(open_claim).collect();
    let reservations: Vec<_> = view.turns.iter().filter_map(reservation).collect();
    totals.claims += claims.len();
    totals.reservations += reservations.len();
    lines.extend(claims.into_iter().chain(reservations));
    let (is_malformed, next) = next_start(view);
    totals.malformed += usize::from(is_malformed);
    lines.push(format!("  next start: {next}"));
    lines
}

fn open_claim(bundle: &Bundle) -> Option<String> {
    let claim = bundle.open_claim()?;
    let rows = bundle.claimed().count();
    let (id, bundle, epoch, by) = (&claim.id, &bundle.pending_id, claim.epoch, &claim.principal);
    Some(format!("  claim {id} of bundle {bundle}: {rows} questions, by {by}, held by generation {epoch}"))
}

fn reservation(turn: &Turn) -> Option<String> {
    let held = turn.reservation.as_ref()?;
    let what = match &held.source {
        Some(source) => format!("the answer to bundle {}", source.pending_id),
        None => "a prompt".to_owned(),
    };
    let how_far = match (held.is_acknowledged, held.is_attempted, turn.has_evidence) {
        (true, ..) => "the agent took it; its start is not announced yet",
        (false, true, _) => "it may have reached the agent",
        (false, false, true) => "a message references it, so it reached the agent",
        (false, false, false) => "it has not left the server",
    };
    Some(format!("  reservation {} for {what}: {how_far}, held by generation {}", turn.id, held.epoch))
}

/// What recovery would do, by asking it; the flag says that it would refuse.
fn next_start(view: &SessionView) -> (bool, String) {
    let stamp = Stamp { now: System.now(), epoch: Epoch(i64::MAX), base: System.fresh() };
    match decide(view, &Command::Recover, &stamp).map(|decision| decision.effect) {
        Ok(Effect::Recovered(done)) => (false, told(&done)),
        Ok(_) => (false, "nothing is to be done".to_owned()),
        Err(Refusal::Malformed { row, reason }) => {
            let what = format!(
                "REFUSED with exit code 3: {row}: {reason}. Repair the row's metadata in task_session_turns with the \
                 server stopped: name the claim's questions as they are, or remove prompt_dispatch_pending to keep \
                 the turn and what it carries as history"
            );
            (true, what)
        }
        Err(refusal) => (false, format!("left as it is: {refusal}")),
    }
}

fn told(done: &Recovery) -> String {
    let parts = [
        (done.rolled_back, "dispatches that never left are deleted"),
        (done.kept, "dispatches are kept as turns and never sent again"),
        (done.restored, "responses are given back: their bundles can be answered again"),
        (done.retired, "responses are closed without effect: a newer turn or the session's end came first"),
        (done.detached, "bundles are marked detached: nobody waits for them"),
        (done.expired, "sessions that are over have their questions expired"),
    ];
    let told: Vec<_> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    told.join("; ")
}

fn unknown_outcome(row: &TurnRow) -> [String; 2] {
    let (turn, session) = (&row.turn.id, &row.session_id);
    [
        format!("ambiguous dispatch {turn} in session {session}: it may or may not have reached the agent"),
        format!(
            "  nothing is sent again; look at the agent, then settle it: \
             mutation {{ resolveAmbiguousDispatch(turnId: \"{turn}\", wasAccepted: true or false) }}"
        ),
    ]
}

/// Rows of the kind of a question that are none: shown to nobody as a question, and no hindrance to a start.
async fn inert_questions(store: &Store, lines: &mut Vec<String>) -> Result<i64, Error> {
    for (session, message) in store.inert_questions(LISTED_MAX).await? {
        lines.push(format!("inert message {message} in session {session}: its metadata makes no question"));
    }
    Ok(store.inert_rows().await?)
}
