//! The HTTP client under a webhook, and what is learned from it. May import: config, and its siblings.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, RequestBuilder, Response, redirect, retry};
use serde_json::Value;

use crate::config::is_public;

use super::Unusable;
use super::outcome::Happened;

/// Bytes of a response that are read, at most; a receiver has little to say.
const BODY_BYTES_MAX: usize = 4_096;

/// A client for which one request is one attempt.
pub(super) fn new(connect: Duration, allow_private: bool) -> Result<Client, Unusable> {
    let builder = Client::builder()
        .user_agent(concat!("answerable/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .pool_max_idle_per_host(0)
        .no_proxy()
        .http1_only()
        .connect_timeout(connect)
        .dns_resolver(Resolver { allow_private });
    builder.build().map_err(|error| Unusable(error.to_string()))
}

/// Resolves a name to the addresses that are then connected to, so that what was looked at is what is reached.
#[derive(Clone, Copy, Debug)]
struct Resolver {
    allow_private: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("the name has no public address")]
struct NotPublic;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let own = *self;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let kept = own.keep(found);
            if kept.is_empty() { Err(NotPublic.into()) } else { Ok::<Addrs, _>(Box::new(kept.into_iter())) }
        })
    }
}

impl Resolver {
    fn keep(self, found: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
        found.filter(|address| self.allow_private || is_public(address.ip())).collect()
    }
}

/// Sends, and tells what happened. The log gets no URL: its query may hold a secret.
pub(super) async fn send(request: RequestBuilder) -> Happened {
    match request.send().await {
        Ok(response) => read(response).await,
        Err(error) => {
            let is_unsent = error.is_builder() || error.is_connect();
            tracing::debug!(error = %error.without_url(), is_unsent, "a webhook got no response");
            if is_unsent { Happened::NotSent } else { Happened::Lost }
        }
    }
}

/// The status is the answer; the body counts only where it may say more.
async fn read(response: Response) -> Happened {
    let status = response.status().as_u16();
    let accepted = if matches!(status, 409 | 503) { accepted(response).await } else { None };
    Happened::Answered { status, accepted }
}

async fn accepted(mut response: Response) -> Option<bool> {
    let kind = response.headers().get(http::header::CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
    if !kind.starts_with("application/json") {
        return None;
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        if body.len() + chunk.len() > BODY_BYTES_MAX {
            return None;
        }
        body.extend_from_slice(&chunk);
    }
    serde_json::from_slice::<Value>(&body).ok()?.get("accepted")?.as_bool()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_its_public_addresses_only() {
        let found = ["127.0.0.1:0", "10.0.0.1:0", "1.1.1.1:0", "[fe80::1]:0"].map(|text| text.parse().unwrap());
        let kept = |allow_private| Resolver { allow_private }.keep(found.into_iter());
        assert_eq!(kept(false), [found[2]]);
        assert_eq!(kept(true), found);
    }

    #[tokio::test]
    async fn a_name_of_a_private_address_is_not_connected_to() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://localhost:{}/", listener.local_addr().unwrap().port());
        let client = new(Duration::from_secs(5), false).unwrap();
        assert_eq!(send(client.post(&url).body("secret")).await, Happened::NotSent);
        tokio::select! {
            biased;
            _ = listener.accept() => panic!("a connection was made"),
            () = std::future::ready(()) => {}
        }
    }
}
