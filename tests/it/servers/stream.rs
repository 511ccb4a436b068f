//! A subscription to task changes over server-sent events. May import: its siblings.

use std::time::Duration;

use serde_json::{Value, json};

use crate::kill::server::Caller;

const BOUND: Duration = Duration::from_secs(60);
const FOLLOW: &str = "subscription($after: Cursor) { taskChanges(after: $after) {
    __typename cursor ... on TaskChanged { task { title } } } }";

pub struct Stream {
    response: reqwest::Response,
    text: String,
}

impl Stream {
    pub async fn open(server: &Caller, after: Option<&str>) -> Self {
        Self::try_open(server, after).await.expect("it was not opened")
    }

    /// None: nobody is there.
    pub async fn try_open(server: &Caller, after: Option<&str>) -> Option<Self> {
        let body = json!({ "query": FOLLOW, "variables": { "after": after } });
        let response = server.post(&body).header("accept", "text/event-stream").send().await.ok()?;
        response.status().is_success().then(|| Self { response, text: String::new() })
    }

    /// The next item.
    pub async fn next(&mut self) -> Value {
        tokio::time::timeout(BOUND, self.try_next()).await.expect("nothing more was told").expect("it ended")
    }

    /// None: the stream broke or ended.
    pub async fn try_next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data:"));
                let told = data.and_then(|data| serde_json::from_str::<Value>(data.trim()).ok());
                self.text = rest.to_owned();
                match told {
                    Some(told) => return Some(told["data"]["taskChanges"].clone()),
                    None => continue,
                }
            }
            let chunk = self.response.chunk().await.ok().flatten()?;
            self.text.push_str(&String::from_utf8_lossy(&chunk));
        }
    }
}
