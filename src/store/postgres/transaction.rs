//! A transaction from its BEGIN to its end, and what a failure at each step says about it.
//! May import: the store's shared parts, metrics.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use diesel::result::{DatabaseErrorKind, Error as DbError};
use diesel_async::pooled_connection::deadpool::{Object, Pool};
use diesel_async::{AnsiTransactionManager as Manager, TransactionManager};
use futures_util::{FutureExt, TryFutureExt};
use tokio::time::{Instant, sleep, timeout};

use crate::metrics::Metrics;
use crate::store::error::Error;
use crate::store::job::{Ticket, Work};

use super::Conn;
use super::pool::{Lent, lend};
use super::seam::{GENERATIONS, LOCKS};

/// What a transaction is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// One snapshot of everything.
    Read,
    /// A change beside the door.
    Write,
    /// A decision: its generation cannot end before the transaction does.
    Decide,
}

impl Kind {
    fn begin(self) -> String {
        match self {
            Self::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY".to_owned(),
            Self::Write => "BEGIN ISOLATION LEVEL READ COMMITTED".to_owned(),
            Self::Decide => format!(
                "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock_shared({LOCKS}, {GENERATIONS})"
            ),
        }
    }
}

/// Between two tries to begin while the server is away.
const PAUSE: Duration = Duration::from_millis(50);

/// What transactions are made on.
#[derive(Clone)]
pub(super) struct Ground {
    pub(super) pool: Pool<Conn>,
    /// How long a connection, and its first answer, may take.
    pub(super) connect: Duration,
    /// How long a transaction may take.
    pub(super) transaction: Duration,
    pub(super) metrics: Metrics,
}

impl Ground {
    /// A connection; a write that waits for one is counted.
    async fn lend(&self, kind: Kind) -> Result<Lent, Error> {
        if matches!(kind, Kind::Read) {
            return lend(&self.pool).await;
        }
        self.metrics.write_queued();
        let lent = lend(&self.pool).await;
        self.metrics.write_taken(1);
        lent
    }
}

/// A connection inside a transaction. While the server cannot be reached the next connection is tried, for nothing was
/// done on the last; and where one is broken, those that lie idle are most likely too. One that never answers leaves
/// time for another.
pub(super) async fn begin(ground: &Ground, kind: Kind) -> Result<Lent, Error> {
    let deadline = Instant::now() + 2 * ground.connect;
    loop {
        match try_begin(ground, kind).await {
            Err(Error::Unreachable(_)) if Instant::now() < deadline => sleep(PAUSE).await,
            begun => return begun,
        }
    }
}

async fn try_begin(ground: &Ground, kind: Kind) -> Result<Lent, Error> {
    let mut conn = ground.lend(kind).await?;
    let sql = kind.begin();
    let begun = Manager::begin_transaction_sql(&mut *conn, &sql).map_err(Error::from);
    match within(ground.connect, begun).await {
        Ok(()) => Ok(conn),
        Err(error) => {
            drop(Object::take(conn));
            ground.pool.retain(|_, _| false);
            Err(error)
        }
    }
}

/// A server that says nothing for so long is not there any more.
pub(super) async fn within<R>(bound: Duration, work: impl Future<Output = Result<R, Error>>) -> Result<R, Error> {
    timeout(bound, work).await.unwrap_or_else(|_elapsed| Err(Error::Unreachable("it fell silent".to_owned())))
}

/// Ends the transaction: what is kept is committed, a failure undoes it.
pub(super) async fn end<R>(
    ground: &Ground,
    mut conn: Lent,
    result: Result<R, Error>,
    is_kept: bool,
) -> Result<R, Error> {
    let ended = if is_kept && result.is_ok() {
        let start = Instant::now();
        let commit = Manager::commit_transaction(&mut *conn).map_err(of_commit);
        let committed = timeout(ground.transaction, commit).await.unwrap_or(Err(Error::UnknownCommit));
        ground.metrics.committed(1, start.elapsed());
        committed
    } else {
        within(ground.connect, Manager::rollback_transaction(&mut *conn).map_err(Error::from)).await
    };
    match (result, ended) {
        (result, Ok(())) => result,
        // The server forgets what it did not commit.
        (result, Err(error)) => {
            drop(Object::take(conn));
            let value = result?;
            if is_kept { Err(error) } else { Ok(value) }
        }
    }
}

/// A job that is one transaction.
pub(super) async fn run<R: Send>(ground: Ground, kind: Kind, ticket: Ticket<R>, work: Work<Conn, R>) {
    let mut conn = match begin(&ground, kind).await {
        Ok(conn) => conn,
        Err(error) => return ticket.answer(Err(error)),
    };
    if !ticket.begin() {
        return drop(end(&ground, conn, Ok(()), false).await);
    }
    let work = AssertUnwindSafe(work(&mut conn)).catch_unwind();
    let result = within(ground.transaction, work.map(|worked| worked.unwrap_or(Err(Error::Panicked)))).await;
    ticket.answer(end(&ground, conn, result, !matches!(kind, Kind::Read)).await);
}

/// A commit that the server refused changed nothing; of any other failure nothing is known.
fn of_commit(error: DbError) -> Error {
    use DatabaseErrorKind::{ForeignKeyViolation, UniqueViolation};
    match error {
        DbError::DatabaseError(UniqueViolation | ForeignKeyViolation, _) => Error::Db(error),
        error => match Error::from(error) {
            Error::RolledBack => Error::RolledBack,
            _ => Error::UnknownCommit,
        },
    }
}

/// Another transaction came first, so the same one is worth another look.
pub(super) fn is_race(error: &Error) -> bool {
    use DatabaseErrorKind::{ForeignKeyViolation, UniqueViolation};
    match error {
        Error::RolledBack => true,
        Error::Db(DbError::DatabaseError(kind, _)) => matches!(kind, UniqueViolation | ForeignKeyViolation),
        _ => false,
    }
}
