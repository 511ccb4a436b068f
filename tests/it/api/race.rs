//! Many at once. May import: the crate, the app, its siblings.

use std::collections::HashSet;

use serde_json::json;

use super::scene::*;
use crate::app::App;

const RESPONDERS: usize = 32;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_32_parallel_responders_one_is_accepted_and_31_learn_who_it_was() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    for is_live in [true, false] {
        let id = ask(&local, &scene.session, json!([{ "prompt": format!("live: {is_live}?") }])).await;
        let waiting = if is_live { Some(wait(&local, &id).await) } else { None };
        let mut responders = Vec::new();
        for n in 0..RESPONDERS {
            let (own, id, key) = (local.clone(), id.clone(), format!("k{n}"));
            let text = format!("answer {n}");
            responders.push(tokio::spawn(async move {
                let answers = json!([{ "questionId": "q1", "customText": text }]);
                let told = if is_live {
                    respond(&own, &id, &key, answers).await
                } else {
                    skip(&own, &id, &key, &text).await
                };
                (text, told)
            }));
        }
        let mut accepted = HashSet::new();
        let mut conflicts = 0;
        for responder in responders {
            let (text, told) = responder.await.unwrap();
            match told["__typename"].as_str() {
                Some("ResponseAccepted") => {
                    accepted.insert(text);
                }
                Some("ResponseConflict") => {
                    conflicts += 1;
                    if is_live {
                        assert_eq!(told["winner"]["respondedBy"], "local", "{told}");
                    }
                    assert!(matches!(told["reason"].as_str(), Some("TERMINAL" | "DELIVERY_CLAIMED")), "{told}");
                }
                _ => panic!("{told}"),
            }
        }
        assert_eq!((accepted.len(), conflicts), (1, RESPONDERS - 1));
        let winner = accepted.into_iter().next().unwrap();
        if let Some(waiting) = waiting {
            assert_eq!(waiting.await.unwrap()["answers"][0]["text"], winner.as_str());
        }
    }
    app.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn several_waiters_of_one_bundle_hear_the_same_answer() {
    let app = App::start().await;
    let local = app.local();
    let scene = scene(&local, None).await;
    let id = ask(&local, &scene.session, json!([{ "prompt": "?" }])).await;
    let mut waiting = Vec::new();
    for _ in 0..4 {
        waiting.push(wait(&local, &id).await);
    }
    respond(&local, &id, "k", json!([{ "questionId": "q1", "customText": "one for all" }])).await;
    for one in waiting {
        assert_eq!(one.await.unwrap()["answers"][0]["text"], "one for all");
    }
    app.finish().await;
}
