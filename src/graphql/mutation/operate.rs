//! What operators do. May import: authority, ids.

use async_graphql::{Context, ID, InputObject, Object, Result, SimpleObject};

use crate::authority::NewToken;
use crate::ids::{SessionId, TokenId, TurnId, WorkspaceId};

use super::super::context::{authority, load, viewer};
use super::super::fault::fault;
use super::super::types::{Role, Turn};
use super::{answer, result_union};

/// A token to make.
#[derive(InputObject)]
pub struct CreateTokenInput {
    /// What it may do.
    role: Role,
    /// What it sees; null: what its maker sees.
    workspace_ids: Option<Vec<ID>>,
    /// The one session of an agent; null: it is not bound.
    session_id: Option<ID>,
    /// For people who read the list.
    name: String,
    /// Seconds until it expires; null: it does not.
    expires_in_seconds: Option<i32>,
}

/// A token was made.
#[derive(SimpleObject)]
pub struct CreateTokenPayload {
    /// Names the token, to revoke it; it is also the principal that the token stands for.
    token_id: ID,
    /// The token. It is shown this once and stored hashed.
    token: String,
}

/// The token is void from now on.
#[derive(SimpleObject)]
pub struct RevokeTokenPayload {
    /// The token that was.
    token_id: ID,
}

/// The dispatch is settled.
pub struct ResolveAmbiguousDispatchPayload {
    id: TurnId,
}

/// The dispatch is settled.
#[Object]
impl ResolveAmbiguousDispatchPayload {
    /// The turn; null: it was deleted meanwhile.
    async fn turn(&self, ctx: &Context<'_>) -> Option<Result<Turn>> {
        let id = self.id.clone();
        let found = async { load(ctx)?.load_one(id).await.map_err(fault) };
        Some(found.await.transpose()?.map(Turn))
    }
}

result_union! {
    /// What came of making a token.
    CreateTokenResult(CreateTokenPayload)
}
result_union! {
    /// What came of revoking a token.
    RevokeTokenResult(RevokeTokenPayload)
}
result_union! {
    /// What came of settling a dispatch.
    ResolveAmbiguousDispatchResult(ResolveAmbiguousDispatchPayload)
}

#[derive(Default)]
pub struct Operate;

#[Object]
impl Operate {
    /// Makes a token. For operators. Once a token exists, nobody is let in without one.
    async fn create_token(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The token to make.")] input: CreateTokenInput,
    ) -> Result<CreateTokenResult> {
        let workspace = |id: ID| WorkspaceId::new(id.0);
        let new = NewToken {
            role: input.role.into(),
            workspaces: input.workspace_ids.map(|ids| ids.into_iter().map(workspace).collect()),
            session_id: input.session_id.map(|id| SessionId::new(id.0)),
            name: input.name,
            expires_in_s: input.expires_in_seconds.map(i64::from),
        };
        let made = authority(ctx)?.create_token(viewer(ctx)?, new).await;
        answer(made, |(id, token)| {
            CreateTokenResult::Done(CreateTokenPayload { token_id: id.as_str().into(), token })
        })
    }

    /// Ends a token at once. For operators.
    async fn revoke_token(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The token's id.")] token_id: ID,
    ) -> Result<RevokeTokenResult> {
        let done = authority(ctx)?.revoke_token(viewer(ctx)?, &TokenId::new(token_id.as_str())).await;
        answer(done, |()| RevokeTokenResult::Done(RevokeTokenPayload { token_id }))
    }

    /// Records what an operator found out about a dispatch that may or may not have reached its agent. Nothing is
    /// sent again. For operators.
    async fn resolve_ambiguous_dispatch(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The dispatched turn's id.")] turn_id: ID,
        #[graphql(desc = "The agent had taken it.")] was_accepted: bool,
    ) -> Result<ResolveAmbiguousDispatchResult> {
        let id = TurnId::new(turn_id.0);
        let done = authority(ctx)?.resolve_ambiguous(viewer(ctx)?, &id, was_accepted).await;
        answer(done, |()| ResolveAmbiguousDispatchResult::Done(ResolveAmbiguousDispatchPayload { id }))
    }
}
