//! What a request carries: who asks, what loads in batches, and what waits for proof of its receipt.
//! May import: authority, access.

use std::sync::{Arc, Mutex, PoisonError};

use async_graphql::{Context, Request, Result};

use crate::access::Viewer;
use crate::authority::{Authority, Receipt};

use super::fault::{Code, coded};
use super::limits::Limits;
use super::loaders::{Loaders, loaders};

/// Receipts of answers inside a response. The transport redeems them when the response was written; otherwise they
/// say that the answer may not have reached its agent.
#[derive(Clone, Debug, Default)]
pub struct Receipts(Arc<Mutex<Vec<Receipt>>>);

impl Receipts {
    pub(super) fn keep(&self, receipt: Receipt) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(receipt);
    }

    /// The response was written to its end.
    pub fn received(&self) {
        let receipts = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        receipts.into_iter().for_each(Receipt::received);
    }
}

/// Gives a request its viewer.
pub fn enter(request: Request, authority: &Authority, viewer: Viewer) -> (Request, Receipts) {
    let receipts = Receipts::default();
    let loaders = loaders(authority.clone(), viewer.clone());
    (request.data(viewer).data(loaders).data(receipts.clone()), receipts)
}

fn missing<T>(_: async_graphql::Error) -> Result<T> {
    Err(coded(Code::Internal, "the server met a defect"))
}

pub(super) fn authority<'a>(ctx: &Context<'a>) -> Result<&'a Authority> {
    ctx.data::<Authority>().or_else(missing)
}

pub(super) fn viewer<'a>(ctx: &Context<'a>) -> Result<&'a Viewer> {
    ctx.data::<Viewer>().or_else(missing)
}

pub(super) fn load<'a>(ctx: &Context<'a>) -> Result<&'a Loaders> {
    ctx.data::<Loaders>().or_else(missing)
}

pub(super) fn limits<'a>(ctx: &Context<'a>) -> Result<&'a Limits> {
    ctx.data::<Limits>().or_else(missing)
}

pub(super) fn receipts<'a>(ctx: &Context<'a>) -> Result<&'a Receipts> {
    ctx.data::<Receipts>().or_else(missing)
}
