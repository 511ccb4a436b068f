//! What workers can claim. May import: authority.

use async_graphql::{ID, SimpleObject};

use crate::authority::Offer;

/// A dispatch that can be claimed with `claimDispatch`. It says nothing of what the agent is to read: that is told to
/// whoever claims it.
#[derive(SimpleObject)]
pub struct DispatchOffer {
    /// The dispatch.
    dispatch_id: ID,
    /// Its session.
    session_id: ID,
}

impl From<Offer> for DispatchOffer {
    fn from(offer: Offer) -> Self {
        Self { dispatch_id: offer.dispatch_id.as_str().into(), session_id: offer.session_id.as_str().into() }
    }
}
