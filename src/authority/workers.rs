//! What workers do that come for dispatches: they hear of offers, claim, and say what became of it. Whoever holds a
//! lease's token is its worker; everybody else is told that there is no such thing (INV-38).
//! May import: access, dispatch, store, lifecycle, ids.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, Stream};
use tokio::sync::watch;

use crate::access::{Viewer, hash_token, new_token};
use crate::dispatch::{Dispatch, Pull};
use crate::ids::{Micros, SessionId, TurnId};
use crate::lifecycle::{
    Certainty, Command, DispatchOutcome, Effect, FieldCode, FieldError, Focus, Lease, Refusal, Turn,
};

use super::ask::hex;
use super::dispatching::dispatch_of;
use super::identify::allow;
use super::{Authority, Error};

/// A dispatch that can be claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its id, which is its turn's.
    pub dispatch_id: TurnId,
    /// Its session.
    pub session_id: SessionId,
}

/// A worker wants a dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimDispatch {
    /// Under which name the worker comes.
    pub executor: String,
    /// Which.
    pub dispatch_id: TurnId,
    /// How long it may take to acknowledge; none: as the server's setting says.
    pub lease: Option<Duration>,
}

/// A dispatch that is this worker's alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// What the agent is to read, and all that goes with it.
    pub dispatch: Dispatch,
    /// Proves that a later word is this worker's. Told this once.
    pub lease_token: String,
    /// Until when it may be acknowledged.
    pub lease_until: Micros,
}

/// By what a worker says which dispatch it means, and that it is its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseKey {
    /// The dispatch.
    pub dispatch_id: TurnId,
    /// As it was told at the claim.
    pub lease_token: String,
}

/// The worker took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// It had said so before.
    pub is_replayed: bool,
}

struct Offers {
    authority: Authority,
    viewer: Viewer,
    executor: String,
    hint: watch::Receiver<u64>,
    told: HashSet<TurnId>,
    ready: VecDeque<Offer>,
}

impl Authority {
    /// Follows what workers of an executor can claim: first all that is on offer, then what comes; each once. A fault
    /// is the last item.
    ///
    /// # Errors
    /// Forbidden; no executor of that name whose workers come.
    pub fn offers(
        &self,
        viewer: &Viewer,
        executor: &str,
    ) -> Result<impl Stream<Item = Result<Offer, Error>> + Send + use<>, Error> {
        allow(viewer.may_run())?;
        let offers = Offers {
            authority: self.clone(),
            viewer: viewer.clone(),
            executor: executor.to_owned(),
            hint: self.pull(executor)?.listen(),
            told: HashSet::new(),
            ready: VecDeque::new(),
        };
        Ok(stream::unfold(Some(offers), |offers| async move {
            let mut offers = offers?;
            match offers.next().await {
                Ok(Some(offer)) => Some((Ok(offer), Some(offers))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        }))
    }

    /// Gives a dispatch to this worker and to no other, ever: the attempt marker is durable before a byte of the prompt
    /// leaves (INV-10).
    ///
    /// # Errors
    /// Forbidden; not found; stale, where another worker was quicker; a lease longer than the server allows.
    pub async fn claim_dispatch(&self, viewer: &Viewer, claim: ClaimDispatch) -> Result<Claimed, Error> {
        allow(viewer.may_run())?;
        self.pull(&claim.executor)?;
        let lease = self.check_lease(claim.lease)?;
        let (session, id) = (self.session_of_turn(viewer, &claim.dispatch_id).await?, claim.dispatch_id);
        let focus = Focus { turn_id: Some(id.clone()), ..Focus::default() };
        let view = self.store().view(&session, focus).await?;
        let executor = view.session.as_ref().and_then(|session| session.executor.as_ref());
        if executor != Some(&claim.executor) {
            return Err(Refusal::NotFound.into());
        }
        let dispatch = dispatch_of(&view, &session, &id).ok_or(Refusal::Stale)?;
        let (lease_token, hash) = new_token();
        let now = self.0.parts.clock.now();
        let lease = Lease { token_hash: hex(&hash), claimed_at: now, until: now.plus(lease) };
        let lease_until = lease.until;
        self.transact(&session, Command::ClaimDispatch(id, lease)).await?;
        Ok(Claimed { dispatch, lease_token, lease_until })
    }

    /// The worker took it. Said twice, it is one.
    ///
    /// # Errors
    /// Forbidden; not found, as for a token that is not its lease's; stale, where the lease ended before: then nobody
    /// can tell, and an operator settles it.
    pub async fn ack_dispatch(&self, viewer: &Viewer, key: &LeaseKey) -> Result<Acknowledged, Error> {
        let (session, _) = self.leased(viewer, key).await?;
        let acknowledge = Command::Acknowledge(key.dispatch_id.clone(), Certainty::Accepted);
        match self.transact(&session, acknowledge).await {
            Ok(passed) => Ok(Acknowledged { is_replayed: passed.decision.effect == Effect::Unchanged }),
            Err(Error::Refused(Refusal::Stale)) => {
                let (_, turn) = self.leased(viewer, key).await?;
                if turn.dispatch_outcome == Some(DispatchOutcome::Accepted) {
                    return Ok(Acknowledged { is_replayed: true });
                }
                tracing::warn!(session.id = %session, turn.id = %key.dispatch_id, "an acknowledgement came after its lease");
                Err(Refusal::Stale.into())
            }
            Err(error) => Err(error),
        }
    }

    /// The worker proves that it did not take it and never will: what it answers is answerable again.
    ///
    /// # Errors
    /// As [`Self::ack_dispatch`]; not found, too, where it was refused before.
    pub async fn reject_dispatch(&self, viewer: &Viewer, key: &LeaseKey, reason: String) -> Result<(), Error> {
        self.check_text("reason", &reason, true)?;
        let (session, _) = self.leased(viewer, key).await?;
        let executor = self.executor_of(&session).await?.ok_or(Refusal::NotFound)?;
        self.pull(&executor)?.refuse(&key.dispatch_id, reason);
        self.transact(&session, Command::RejectDispatch(key.dispatch_id.clone())).await?;
        Ok(())
    }

    /// Gives the worker longer to acknowledge, from now on, and never beyond the server's longest lease. Returns until
    /// when.
    ///
    /// # Errors
    /// As [`Self::ack_dispatch`]; stale, too, once it was acknowledged.
    pub async fn extend_lease(&self, viewer: &Viewer, key: &LeaseKey, by: Duration) -> Result<Micros, Error> {
        let by = self.check_lease(Some(by))?;
        let (session, turn) = self.leased(viewer, key).await?;
        let lease = turn.lease.ok_or(Refusal::NotFound)?;
        let last = lease.claimed_at.plus(self.limits().lease_max);
        let until = self.0.parts.clock.now().plus(by).min(last);
        self.transact(&session, Command::ExtendLease(key.dispatch_id.clone(), until)).await?;
        Ok(until.max(lease.until))
    }

    fn pull(&self, executor: &str) -> Result<Arc<Pull>, Error> {
        let route = self.0.parts.executors.get(executor);
        route.and_then(crate::dispatch::Route::pull).ok_or(Error::Refused(Refusal::NotFound))
    }

    /// The session and turn of a lease whose token this is.
    async fn leased(&self, viewer: &Viewer, key: &LeaseKey) -> Result<(SessionId, Turn), Error> {
        allow(viewer.may_run())?;
        let session = self.session_of_turn(viewer, &key.dispatch_id).await?;
        let turns = self.store().turns(std::slice::from_ref(&key.dispatch_id)).await?;
        let turn = turns.into_iter().next().ok_or(Refusal::NotFound)?.turn;
        let hash = hex(&hash_token(&key.lease_token));
        let is_own = turn.lease.as_ref().is_some_and(|lease| lease.token_hash == hash);
        if is_own { Ok((session, turn)) } else { Err(Refusal::NotFound.into()) }
    }

    fn check_lease(&self, wanted: Option<Duration>) -> Result<Duration, Error> {
        let (default, max) = (self.limits().lease, self.limits().lease_max);
        let lease = wanted.unwrap_or(default);
        if !lease.is_zero() && lease <= max {
            return Ok(lease);
        }
        let limit = i64::try_from(max.as_secs()).ok();
        let message = format!("a lease is longer than nothing and at most {} seconds", max.as_secs());
        let path = "leaseSeconds".to_owned();
        Err(Refusal::Invalid(vec![FieldError { path, code: FieldCode::NotAllowed, limit, message }]).into())
    }
}

impl Offers {
    async fn next(&mut self) -> Result<Option<Offer>, Error> {
        let drain = self.authority.0.drain.clone();
        loop {
            if let Some(offer) = self.ready.pop_front() {
                return Ok(Some(offer));
            }
            self.hint.borrow_and_update();
            self.look().await?;
            if !self.ready.is_empty() {
                continue;
            }
            tokio::select! {
                _ = self.hint.changed() => {}
                () = tokio::time::sleep(self.authority.limits().poll) => {}
                () = drain.cancelled() => return Ok(None),
            }
        }
    }

    /// Only what is still on offer is remembered as told, which bounds that.
    async fn look(&mut self) -> Result<(), Error> {
        let (scope, session) = (&self.viewer.scope, self.viewer.session.as_ref());
        let max = self.authority.limits().offers_max;
        let rows = self.authority.store().offered(scope, &self.executor, session, max).await?;
        let mut open = HashSet::with_capacity(rows.len());
        for row in rows {
            if !self.told.contains(&row.turn.id) {
                let dispatch_id = row.turn.id.clone();
                self.ready.push_back(Offer { dispatch_id, session_id: row.session_id });
            }
            open.insert(row.turn.id);
        }
        self.told = open;
        Ok(())
    }
}
