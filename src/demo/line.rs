//! One JSON line each way between the server and the demo's agent. May import: nothing of this crate.

use serde::{Deserialize, Serialize};

/// What the agent reads on stdin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "camelCase")]
pub(super) enum ToAgent {
    /// Where to ask, as whom, and the first prompt.
    Begin {
        /// The MCP endpoint.
        url: String,
        /// The session's token.
        token: String,
        /// What a person asked of the agent.
        prompt: String,
    },
    /// A new turn.
    #[serde(rename_all = "camelCase")]
    Prompt {
        /// The turn, which the acknowledgement names.
        turn_id: String,
        /// The prompt.
        prompt: String,
        /// It takes an answer to the agent that came when nobody waited.
        is_answer: bool,
    },
}

/// What the agent writes on stdout; any other line is narration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "camelCase")]
pub(super) enum FromAgent {
    /// The agent took that turn's prompt.
    #[serde(rename_all = "camelCase")]
    Accepted {
        /// The turn.
        turn_id: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_line_whatever_the_prompt_holds() {
        let prompt = "two\nlines and \"quotes\"\r\n\u{2028}".to_owned();
        let line = ToAgent::Prompt { turn_id: "t".into(), prompt, is_answer: true };
        let text = serde_json::to_string(&line).unwrap();
        assert!(!text.contains('\n'));
        assert_eq!(serde_json::from_str::<ToAgent>(&text).unwrap(), line);
    }

    #[test]
    fn narration_is_no_acknowledgement() {
        assert!(serde_json::from_str::<FromAgent>("q1: selected \"Red\"").is_err());
        let line = serde_json::to_string(&FromAgent::Accepted { turn_id: "t".into() }).unwrap();
        assert!(serde_json::from_str::<FromAgent>(&line).is_ok());
    }
}
