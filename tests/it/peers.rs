//! What each real peer does to a detached answer, and the test that shows it. Dispatches are counted in each: never more
//! than one of a bundle, apart from those that the agent itself refused. May import: nothing.

/// The three that take part: an ACP agent on the protocol's npm package, an HTTP receiver that verifies with npm
/// `standardwebhooks`, a worker over a real socket.
const PEERS: [(&str, &str); 3] = [
    ("ACP agent", include_str!("acp/outcome.rs")),
    ("webhook receiver", include_str!("receiver.rs")),
    ("pull worker", include_str!("pull.rs")),
];

/// By deed, the test of each peer, in their order.
const TABLE: [(&str, [&str; 3]); 6] = [
    (
        "accepts",
        [
            "a_detached_answer_reaches_the_agent_once_with_what_was_selected_and_written",
            "the_npm_library_verifies_what_is_posted_and_the_command_gets_the_answer",
            "an_answer_goes_to_the_worker_that_claims_it_and_an_acknowledgement_said_twice_is_one",
        ],
    ),
    (
        "refuses",
        [
            "an_answer_that_the_agent_refuses_is_given_back",
            "another_key_or_a_command_that_refuses_gives_the_answer_back",
            "a_refusal_gives_the_answer_back_with_its_reason_and_the_next_one_is_another_dispatch",
        ],
    ),
    (
        "hangs past the deadline and is taken back",
        [
            "a_prompt_that_waits_for_its_agent_past_the_deadline_is_taken_back",
            "a_command_that_hangs_past_the_deadline_is_taken_back_by_a_signed_delete",
            "an_offer_that_workers_leave_past_the_deadline_is_taken_back_for_good",
        ],
    ),
    (
        "dies with the prompt in its hands",
        [
            "an_agent_that_dies_with_the_prompt_leaves_it_unknown_and_its_session_open_for_another",
            "a_receiver_killed_with_the_prompt_in_its_hands_leaves_it_unknown",
            "a_worker_killed_with_the_prompt_in_its_hands_leaves_it_unknown_and_nobody_gets_it_again",
        ],
    ),
    (
        "acknowledges twice",
        [
            // Each of its updates is evidence, and so is its answer.
            "a_detached_answer_reaches_the_agent_once_with_what_was_selected_and_written",
            "a_post_that_is_repeated_under_its_id_is_taken_once",
            "an_answer_goes_to_the_worker_that_claims_it_and_an_acknowledgement_said_twice_is_one",
        ],
    ),
    (
        "acknowledges too late",
        [
            "a_late_acknowledgement_changes_no_outcome_and_the_work_is_shown",
            "an_acknowledgement_after_the_deadline_changes_no_outcome",
            "what_was_claimed_and_not_acknowledged_in_time_is_unknown_whatever_is_said_later",
        ],
    ),
];

#[test]
fn every_deed_of_every_peer_has_its_test() {
    for (deed, tests) in TABLE {
        for ((peer, text), test) in PEERS.iter().zip(tests) {
            assert!(text.contains(&format!("test]\nasync fn {test}()")), "the {peer} {deed}: {test}");
        }
    }
}
