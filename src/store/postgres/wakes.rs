//! Wake-ups between the servers of one database: each tells the others in which sessions something happened, by ids
//! alone, beside its transactions and merged. One that is lost costs time and nothing else: who waits looks for itself
//! too. May import: the store's shared parts.

use std::collections::BTreeSet;
use std::future::ready;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio_postgres::{AsyncMessage, Client};
use uuid::Uuid;

use crate::ids::SessionId;
use crate::store::error::Error;
use crate::store::wake::Wake;

use super::pool::Maker;

const CHANNEL: &str = "answerable";
/// Bytes of one notification; the server takes less than 8,000.
const PAYLOAD_BYTES_MAX: usize = 7_000;
/// Bytes of an id that can be told.
const ID_BYTES_MAX: usize = 1_000;
/// Sessions that wait to be told of; with more of them the others look at everything.
const SESSIONS_MAX: usize = 10_000;
/// How long what happened waits for more.
const PAUSE: Duration = Duration::from_millis(2);

/// What one server tells the others; without any session, something else happened.
#[derive(Default, Serialize, Deserialize)]
struct News {
    from: String,
    sessions: BTreeSet<SessionId>,
    /// There was more than could be told.
    is_all: bool,
}

/// One server's side of the conversation.
pub(super) struct Wakes {
    own: String,
    /// None: nothing happened.
    news: Mutex<Option<News>>,
    is_there: Notify,
}

impl Wakes {
    pub(super) fn new(own: Uuid) -> Self {
        Self { own: own.simple().to_string(), news: Mutex::default(), is_there: Notify::new() }
    }

    /// Something happened: in that session, or somewhere.
    pub(super) fn tell(&self, session: Option<&SessionId>) {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        let news_now = news.get_or_insert_default();
        match session {
            Some(id) if news_now.sessions.len() < SESSIONS_MAX && id.as_str().len() < ID_BYTES_MAX => {
                news_now.sessions.insert(id.clone());
            }
            Some(_) => news_now.is_all = true,
            None => {}
        }
        drop(news);
        self.is_there.notify_one();
    }

    /// Tells and listens on a connection of its own, until that fails.
    pub(super) async fn exchange(&self, maker: &Maker, heard: &(dyn Fn(Wake) + Send + Sync)) -> Result<(), Error> {
        let (client, mut connection) = maker.connect().await?;
        let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
        let listen = async {
            while let Some(message) = messages.next().await {
                if let AsyncMessage::Notification(told) = maker.answered(ready(message)).await? {
                    self.hear(told.payload(), heard);
                }
            }
            Ok(())
        };
        let speak = async {
            maker.answered(client.batch_execute(&format!("LISTEN {CHANNEL}"))).await?;
            // What was told before this was not heard.
            heard(Wake::All);
            self.speak(maker, &client).await
        };
        tokio::select! {
            ended = listen => ended,
            failed = speak => failed,
        }
    }

    async fn speak(&self, maker: &Maker, client: &Client) -> Result<(), Error> {
        let notify = maker.answered(client.prepare("SELECT pg_notify($1, $2)")).await?;
        loop {
            self.is_there.notified().await;
            tokio::time::sleep(PAUSE).await;
            for payload in self.take() {
                maker.answered(client.execute(&notify, &[&CHANNEL, &payload])).await?;
            }
        }
    }

    /// What there is to tell, in as many notifications as it needs.
    fn take(&self) -> Vec<String> {
        let Some(news) = self.news.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return Vec::new();
        };
        let mut told = vec![News { from: self.own.clone(), is_all: news.is_all, ..News::default() }];
        let mut bytes = 0;
        for id in news.sessions {
            // Every byte may need an escape.
            bytes += 2 * id.as_str().len() + 3;
            if bytes > PAYLOAD_BYTES_MAX {
                bytes = 2 * id.as_str().len() + 3;
                told.push(News { from: self.own.clone(), ..News::default() });
            }
            if let Some(last) = told.last_mut() {
                last.sessions.insert(id);
            }
        }
        told.iter().filter_map(|news| serde_json::to_string(news).ok()).collect()
    }

    fn hear(&self, payload: &str, heard: &(dyn Fn(Wake) + Send + Sync)) {
        let Ok(news) = serde_json::from_str::<News>(payload) else { return heard(Wake::All) };
        if news.from == self.own {
            return;
        }
        heard(if news.is_all { Wake::All } else { Wake::Log });
        news.sessions.into_iter().for_each(|id| heard(Wake::Session(id)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told_by(own: &Wakes, other: &Wakes) -> Vec<Wake> {
        let heard = Mutex::new(Vec::new());
        other.take().iter().for_each(|payload| own.hear(payload, &|wake| heard.lock().unwrap().push(wake)));
        heard.into_inner().unwrap()
    }

    #[test]
    fn what_happened_is_told_once_by_ids_to_all_but_its_teller() {
        let (own, other) = (Wakes::new(Uuid::from_u128(1)), Wakes::new(Uuid::from_u128(2)));
        let session = SessionId::new("a \" b");
        for _ in 0..3 {
            other.tell(Some(&session));
        }
        assert_eq!(told_by(&own, &other), [Wake::Log, Wake::Session(session.clone())]);
        assert_eq!(told_by(&own, &other), []);
        other.tell(Some(&session));
        assert_eq!(told_by(&other, &other), []);
        other.tell(None);
        assert_eq!(told_by(&own, &other), [Wake::Log]);
    }

    #[test]
    fn more_than_can_be_told_is_told_as_everything() {
        let (own, other) = (Wakes::new(Uuid::from_u128(1)), Wakes::new(Uuid::from_u128(2)));
        other.tell(Some(&SessionId::new("x".repeat(ID_BYTES_MAX))));
        assert_eq!(told_by(&own, &other), [Wake::All]);
        (0..=SESSIONS_MAX).for_each(|number| other.tell(Some(&SessionId::new(number.to_string()))));
        assert_eq!(told_by(&own, &other)[0], Wake::All);
        own.hear("by a stranger", &|wake| assert_eq!(wake, Wake::All));
    }

    #[test]
    fn no_notification_is_longer_than_the_server_takes_and_none_is_forgotten() {
        let (own, other) = (Wakes::new(Uuid::from_u128(1)), Wakes::new(Uuid::from_u128(2)));
        let ids: Vec<_> = (0..500).map(|number| SessionId::new(format!("{number:0>36}"))).collect();
        ids.iter().for_each(|id| other.tell(Some(id)));
        let payloads = other.take();
        assert!(payloads.len() > 1 && payloads.iter().all(|payload| payload.len() < 8_000), "{}", payloads.len());
        ids.iter().for_each(|id| other.tell(Some(id)));
        let heard = told_by(&own, &other).into_iter();
        let sessions: Vec<_> =
            heard.filter_map(|wake| if let Wake::Session(id) = wake { Some(id) } else { None }).collect();
        assert_eq!(sessions, ids);
    }
}
