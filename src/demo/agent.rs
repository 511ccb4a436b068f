//! The demo's agent: a process of its own that speaks MCP only. It asks, and says word for word what it received.
//! May import: mcp.

use std::io::Write as _;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};

use crate::mcp::{Client, ClientError};

use super::line::{FromAgent, ToAgent};

/// How long the third question waits.
const SHORT_WAIT_S: u64 = 20;

/// The agent ended badly.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Its pipes.
    #[error("the demo agent's pipes: {0}")]
    Pipe(#[from] std::io::Error),
    /// A line of the server.
    #[error("the demo agent cannot read the server's line: {0}")]
    Line(#[from] serde_json::Error),
    /// The endpoint.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Stdin ended before it began.
    #[error("the demo agent was not told where to begin; it is started by `answerable serve --demo`")]
    NotBegun,
}

/// Runs the agent until its stdin ends.
///
/// # Errors
/// Its pipes or the endpoint broke.
pub async fn run_agent() -> Result<(), AgentError> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let first = lines.next_line().await?.ok_or(AgentError::NotBegun)?;
    let ToAgent::Begin { url, token, prompt } = serde_json::from_str(&first)? else {
        return Err(AgentError::NotBegun);
    };
    let client = Client::connect(&url, Some(&token)).await?;
    let mut prompt = Some(prompt);
    loop {
        let next = match prompt.take() {
            Some(prompt) => {
                say(&format!("prompt: {prompt}"))?;
                // A newer prompt ends the script where it stands; its call is cancelled by being dropped.
                tokio::select! {
                    next = read(&mut lines) => next?,
                    done = script(&client) => {
                        done?;
                        read(&mut lines).await?
                    }
                }
            }
            None => read(&mut lines).await?,
        };
        let Some(line) = next else { return Ok(()) };
        prompt = take(&line)?;
    }
}

async fn read(lines: &mut Lines<BufReader<Stdin>>) -> Result<Option<String>, AgentError> {
    Ok(lines.next_line().await?)
}

/// Acknowledges a prompt, and says what it holds. An answer ends the script; anything else begins it again.
fn take(line: &str) -> Result<Option<String>, AgentError> {
    match serde_json::from_str(line)? {
        ToAgent::Prompt { turn_id, prompt, is_answer } => {
            say(&serde_json::to_string(&FromAgent::Accepted { turn_id })?)?;
            if !is_answer {
                return Ok(Some(prompt));
            }
            say("the answer came as a new turn, with this prompt:")?;
            for part in prompt.lines() {
                say(&format!("    {part}"))?;
            }
            say("that was all; a prompt begins it again")?;
            Ok(None)
        }
        ToAgent::Begin { .. } => Ok(None),
    }
}

/// One question; then three; then one whose wait runs out.
async fn script(client: &Client) -> Result<(), AgentError> {
    for (n, bundle) in [one(), three(), last()].into_iter().enumerate() {
        let mut bundle = bundle;
        bundle.insert("requestKey".into(), json!(format!("demo-{n}")));
        say(&format!("asking:{}", asked(&bundle)))?;
        let told = wait(client, bundle).await?;
        if !narrate(&told)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Asks; while nobody answers, the two longer questions go on waiting.
async fn wait(client: &Client, bundle: Map<String, Value>) -> Result<Value, AgentError> {
    let is_short = bundle.contains_key("maxWaitSeconds");
    let mut told = client.call("ask_user_question", bundle).await?;
    while field(&told, "status") == "pending" && !is_short {
        let again = object(json!({"pendingId": field(&told, "pendingId")}));
        told = client.call("await_user_answer", again).await?;
    }
    Ok(told)
}

/// Says word for word what came; false: this turn has nothing more to ask.
fn narrate(told: &Value) -> Result<bool, AgentError> {
    let status = field(told, "status").as_str().unwrap_or_default();
    match status {
        "answered" => {
            say("received an answer:")?;
            for (id, answer) in field(told, "answers").as_object().into_iter().flatten() {
                let text = answer.get("text").map_or_else(String::new, |text| format!(", written {text}"));
                say(&format!("    {id}: selected {}{text}", field(answer, "selected")))?;
            }
        }
        "rejected" => say(&format!("the person skipped it, because: {}", field(told, "rejectReason")))?,
        "pending" => say("my wait ran out, and nobody has answered; the question stays open")?,
        other => say(&format!("the question is {other}"))?,
    }
    Ok(matches!(status, "answered" | "rejected"))
}

fn one() -> Map<String, Value> {
    object(json!({"questions": [{
        "header": "Colour", "question": "Which colour should the fence have?",
        "options": [
            {"label": "White", "description": "Bright; shows dirt."},
            {"label": "Green", "description": "Like the hedge."},
            {"label": "Red", "description": "Like the barn."},
        ],
    }]}))
}

fn three() -> Map<String, Value> {
    let sides = ["North", "East", "South", "West"].map(|side| json!({"label": side}));
    object(json!({
        "context": "I have the colour. Before I buy paint:",
        "questions": [
            {"header": "Sides", "question": "Which sides should I paint?", "options": sides, "multiSelect": true},
            {"header": "Coats", "question": "How many coats?", "options": [{"label": "One"}, {"label": "Two"}],
                "allowOther": false},
            {"header": "Gate", "question": "What should the sign on the gate say?"},
        ],
    }))
}

fn last() -> Map<String, Value> {
    object(json!({
        "context": format!("I wait {SHORT_WAIT_S} seconds for this one. Answer later, and it begins my next turn."),
        "maxWaitSeconds": SHORT_WAIT_S,
        "questions": [{
            "header": "Old paint", "question": "What should I do with the old paint?",
            "options": [{"label": "Keep it"}, {"label": "Take it to the dump"}],
        }],
    }))
}

fn asked(bundle: &Map<String, Value>) -> String {
    let questions = bundle.get("questions").and_then(Value::as_array).into_iter().flatten();
    questions
        .filter_map(|question| field(question, "question").as_str())
        .fold(String::new(), |all, one| all + " " + one)
}

/// A field, or null.
fn field<'v>(value: &'v Value, name: &str) -> &'v Value {
    value.get(name).unwrap_or(&Value::Null)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// One line of narration, out at once.
fn say(line: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}
