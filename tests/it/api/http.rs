//! GraphQL over HTTP. May import: the crate, the app, its siblings.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::app::App;

const VIEWER: &str = "{\"query\":\"{ viewer { role } }\"}";
const NEW: &str = "application/graphql-response+json";

#[tokio::test]
async fn a_request_error_is_400_without_data_and_a_response_is_200() {
    let app = App::start().await;
    let local = app.local();
    for query in ["{", "{ nothing }", "query($id: ID!) { task(id: $id) { id } }", "{ task { id } }"] {
        let request = local.post(&json!({ "query": query })).header("accept", NEW);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{query}");
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with(NEW));
        let body: Value = response.json().await.unwrap();
        assert!(body.get("data").is_none() && body["errors"][0]["extensions"]["code"].is_string(), "{body}");
    }
    let response = local.post(&json!({ "query": "{ viewer { role } }" })).send().await.unwrap();
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("application/json"));
    assert_eq!(response.json::<Value>().await.unwrap(), json!({ "data": { "viewer": { "role": "OPERATOR" } } }));
    app.finish().await;
}

#[tokio::test]
async fn get_reads_by_operation_name_and_never_writes() {
    let app = App::start().await;
    let local = app.local();
    let get = |pairs: &[(&str, &str)]| local.http.get(&local.url).query_pairs(pairs);
    let two = "query A { viewer { role } } query B { viewer { principal } }";
    let response = get(&[("query", two), ("operationName", "B")]).send().await.unwrap();
    assert_eq!(response.json::<Value>().await.unwrap(), json!({ "data": { "viewer": { "principal": "local" } } }));
    let by_variable = [("query", "query($id: ID!) { task(id: $id) { id } }"), ("variables", "{\"id\":\"x\"}")];
    assert_eq!(
        get(&by_variable).send().await.unwrap().json::<Value>().await.unwrap(),
        json!({ "data": { "task": null } })
    );
    let write = "mutation Named { createTask(input: { title: \"x\" }) { __typename } }";
    for pairs in [vec![("query", write)], vec![("query", write), ("operationName", "Named")]] {
        let response = get(&pairs).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert!(response.headers()["allow"].to_str().unwrap().contains("POST"));
    }
    let tasks = local.ask_for("{ tasks(first: 1) { edges { cursor } } }", json!({})).await;
    assert_eq!(tasks["edges"], json!([]), "nothing was written");
    let response = local.http.request(Method::DELETE, &local.url).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    app.finish().await;
}

/// `RequestBuilder::query` is a feature of reqwest that nothing else needs.
trait QueryPairs {
    fn query_pairs(self, pairs: &[(&str, &str)]) -> Self;
}

impl QueryPairs for reqwest::RequestBuilder {
    fn query_pairs(self, pairs: &[(&str, &str)]) -> Self {
        let (client, request) = self.build_split();
        let mut request = request.unwrap();
        request.url_mut().query_pairs_mut().extend_pairs(pairs);
        Self::from_parts(client, request)
    }
}

#[tokio::test]
async fn what_a_foreign_page_could_send_without_asking_is_refused() {
    let app = App::start().await;
    let local = app.local();
    let send = |kind: &str| local.http.post(&local.url).header("content-type", kind).body(VIEWER).send();
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
    ] {
        let response = send(kind).await.unwrap();
        assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{kind}");
    }
    assert_eq!(send("application/json; charset=utf-8").await.unwrap().status(), StatusCode::OK);
    let from = |name: &'static str, value: String| {
        local
            .http
            .post(&local.url)
            .header("content-type", "application/json")
            .header(name, value)
            .body(VIEWER)
            .send()
    };
    let own = format!("http://{}", app.address());
    assert_eq!(from("origin", own).await.unwrap().status(), StatusCode::OK);
    for foreign in ["http://evil.example", "null"] {
        assert_eq!(from("origin", foreign.into()).await.unwrap().status(), StatusCode::FORBIDDEN);
    }
    let rebound = from("host", "evil.example".into()).await.unwrap();
    assert!(rebound.status().is_client_error(), "a name that is not this machine's leads nowhere without a token");
    app.finish().await;
}

#[tokio::test]
async fn what_is_no_request_is_refused_with_a_graphql_error() {
    let app = App::start().await;
    let local = app.local();
    let batch = format!("[{VIEWER},{VIEWER}]");
    let deep = format!("{{\"query\":\"{{a}}\",\"variables\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let bodies = [
        "",
        "{",
        "1",
        &batch,
        "{}",
        "{\"query\":1}",
        "{\"query\":\"{a}\",\"variables\":[]}",
        "{\"query\":\"{a}\",\"operationName\":1}",
        &deep,
    ];
    for text in bodies {
        let request = local.http.post(&local.url).header("content-type", "application/json");
        let response = request.body(text.to_owned()).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{}", &text[..text.len().min(60)]);
        let body: Value = response.json().await.unwrap();
        assert!(body["errors"][0]["message"].is_string() && body.get("data").is_none(), "{body}");
    }
    let request = local.http.post(&local.url).header("content-type", "application/json");
    let response = request.body(vec![0xff, 0xfe]).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    let response = local.post(&json!({ "query": "x".repeat(2 * 1024 * 1024) })).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert!(response.json::<Value>().await.unwrap()["errors"][0]["message"].is_string());
    let response =
        local.post(&json!({ "query": "{ viewer { role } }" })).header("accept", "text/html").send().await;
    assert_eq!(response.unwrap().status(), StatusCode::NOT_ACCEPTABLE);
    app.finish().await;
}

#[tokio::test]
async fn more_than_one_response_or_too_much_of_anything_is_not_executed() {
    let app = App::start().await;
    let local = app.local();
    let skips = "mutation { a: skip(input: { pendingId: \"p\", clientKey: \"k\" }) { __typename }
        b: skip(input: { pendingId: \"p\", clientKey: \"k\" }) { __typename } }";
    let costly =
        "{ tasks(first: 100) { edges { node { sessions { turns(first: 100) { edges { node { id } } } } } } } }";
    for query in [skips, costly] {
        assert_eq!(local.code(query, json!({})).await, "LIMIT_EXCEEDED");
    }
    app.finish().await;
}

#[tokio::test]
async fn production_shows_no_schema_and_suggests_no_names() {
    let app = App::start_with(|options| {
        options.profile.is_introspection_on = false;
        options.profile.are_suggestions_on = false;
    })
    .await;
    let local = app.local();
    let (_, body) = local.send("{ __schema { types { name } } }", json!({})).await;
    assert!(!body.to_string().contains("TaskSession"), "{body}");
    let (_, body) = local.send("{ viewr { role } }", json!({})).await;
    assert!(!body.to_string().contains("viewer"), "{body}");
    app.finish().await;
}

#[tokio::test]
async fn health_is_told_and_the_page_is_served_by_itself() {
    let app = App::start().await;
    let get = |path: &str| app.local().http.get(format!("http://{}{path}", app.address())).send();
    for path in ["/healthz", "/readyz"] {
        assert!(get(path).await.unwrap().status().is_success());
    }
    let page = get("/").await.unwrap();
    assert!(page.headers()["content-security-policy"].to_str().unwrap().contains("default-src 'none'"));
    assert_eq!(page.headers()["x-content-type-options"], "nosniff");
    let text = page.text().await.unwrap();
    for word in ["innerHTML", "https://", "src=\"//"] {
        assert!(!text.contains(word), "{word}");
    }
    for path in ["/assets/app.map", "/assets/..%2Fpage.html", "/index.html/"] {
        assert_eq!(get(path).await.unwrap().status(), 404, "{path}");
    }
    app.finish().await;
}
