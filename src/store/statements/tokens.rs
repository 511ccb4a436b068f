//! Access tokens. May import: the store's shared parts.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::ids::{Micros, TokenId};
use crate::store::error::Error;
use crate::store::records::TokenRecord;
use crate::store::rows::TokenRow;
use crate::store::schema::{access_tokens as tokens, task_sessions as sessions};

use super::Conn;

/// Adds a token.
pub(in crate::store) async fn insert(conn: &mut Conn, token: TokenRow) -> Result<(), Error> {
    diesel::insert_into(tokens::table).values(TokenRecord::from(token)).execute(conn).await?;
    Ok(())
}

/// Takes a token back; false: there is none that still stands.
pub(in crate::store) async fn revoke(conn: &mut Conn, id: &TokenId, now: Micros) -> Result<bool, Error> {
    let row = tokens::table.filter(tokens::id.eq(id.as_str())).filter(tokens::revoked_us.is_null());
    Ok(diesel::update(row).set(tokens::revoked_us.eq(now.0)).execute(conn).await? == 1)
}

/// The token of that hash. One bound to a session dies with it: absent when the session is gone, failed or
/// cancelled. Whether it is expired or revoked stands in the row.
pub(in crate::store) async fn by_hash(conn: &mut Conn, hash: &[u8; 32]) -> Result<Option<TokenRow>, Error> {
    let row: Option<(TokenRecord, Option<String>)> = tokens::table
        .left_join(sessions::table.on(tokens::session_id.eq(sessions::id.nullable())))
        .filter(tokens::hash.eq(hash.as_slice()))
        .select((TokenRecord::as_select(), sessions::state.nullable()))
        .first(conn)
        .await
        .optional()?;
    let Some((token, state)) = row else { return Ok(None) };
    let is_dead = state.is_none_or(|state| state == "FAILED" || state == "CANCELLED");
    if token.session_id.is_some() && is_dead { Ok(None) } else { token.read().map(Some) }
}

/// The token of that id, whether it still stands or not.
pub(in crate::store) async fn by_id(conn: &mut Conn, id: &TokenId) -> Result<Option<TokenRow>, Error> {
    let row: Option<TokenRecord> =
        tokens::table.find(id.as_str()).select(TokenRecord::as_select()).first(conn).await.optional()?;
    row.map(TokenRecord::read).transpose()
}

/// How many tokens there are that are bound to no session, revoked ones too. One bound to a session is its agent's
/// and says nothing about who else may come in.
pub(in crate::store) async fn count(conn: &mut Conn) -> Result<i64, Error> {
    Ok(tokens::table.filter(tokens::session_id.is_null()).count().get_result(conn).await?)
}
