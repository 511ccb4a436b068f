//! The scenarios of the specification, in its order, in our own short words, each with where it is shown.
//! May import: nothing.

use std::path::Path;

/// Where a scenario is shown.
enum Shown {
    /// By these tests.
    By(&'static [&'static str]),
    /// By these, as far as the server goes, and by these of the web example.
    Both(&'static [&'static str], &'static [&'static str]),
    /// In the web example only: its unit tests and its scripts in a browser.
    Browser(&'static [&'static str]),
}
use Shown::{Both, Browser, By};

const SCENARIOS: [(&str, Shown); 45] = [
    (
        "a lost wait leaves its question active after a reload",
        Both(
            &["a_question_whose_wait_is_lost_stays_visible_answerable_and_in_the_way_of_the_workflow"],
            &[
                "script 8: a wait that ran out is said on every card, and the answer succeeds with its acknowledgement",
            ],
        ),
    ),
    (
        "a newer turn makes an older question history",
        Both(
            &["a_newer_turn_leaves_an_older_question_in_history_and_nowhere_else"],
            &["script 6: a question that a newer turn replaces leaves an open page by itself, and says so"],
        ),
    ),
    (
        "deleting the newer turn's messages revives nothing",
        Both(
            &["deleting_every_message_of_the_newer_turn_revives_nothing"],
            &[
                "script 6: a page that still shows a superseded question gets a conflict, and nothing is written or resumed",
            ],
        ),
    ),
    (
        "a hidden attempted successor keeps the visible predecessor's question inert",
        Both(
            &["beside_an_attempted_successor_that_is_hidden_a_question_of_the_visible_turn_stays_inert"],
            &[
                "script 12: beside a hidden successor that was attempted, a question of the visible turn is history",
            ],
        ),
    ),
    (
        "the event of a question carries the projection that shows it",
        Both(
            &["the_event_that_brings_a_question_brings_the_projection_that_shows_it"],
            &["script 10: a cached clean projection is advanced by the very event that brings the question"],
        ),
    ),
    (
        "a list in flight does not replace a newer event, nor the other way round",
        Both(
            &["a_list_and_an_event_are_ordered_by_their_revisions_whichever_arrives_first"],
            &[
                "script 10: an older revision loses, whether it comes by list or by event",
                "script 10: an older projection of the open session loses, whether it comes by query or by event",
                "script 10: a newer projection of the open session wins, whether it comes by query or by event",
                "any mix of lists and events ends at the greatest revision",
            ],
        ),
    ),
    (
        "skipping the newer bundle brings no older one back",
        Both(
            &["skipping_the_newer_question_brings_no_older_one_back_and_no_later_turn_does"],
            &["script 5: skipping the newer question brings no older one back"],
        ),
    ),
    (
        "a stale stored summary is repaired by a read",
        By(&[
            "a_stale_stored_summary_is_repaired_by_the_read_that_finds_it_and_nothing_else_of_it_moves",
            "a_summary_that_cannot_be_repaired_is_withdrawn_and_what_is_pending_is_told_all_the_same",
        ]),
    ),
    (
        "a task opens the session that asks, not the primary one",
        Both(
            &["a_task_whose_second_session_asks_names_that_session_as_the_owner"],
            &["script 2: a task opens the session that asks, not the primary one, on desktop and on a phone"],
        ),
    ),
    (
        "a pause that saw no turn does not stop a first one",
        By(&[
            "a_pause_that_saw_no_turn_stops_no_first_turn_that_came_meanwhile",
            "a_lost_agents_turn_is_paused_after_the_grace_and_no_other_one",
        ]),
    ),
    (
        "a newer summary during a load leads to the task-only route",
        Browser(&[
            "script 9: a pending action that another one replaces during the load opens no obsolete owner",
            "script 9: a pending owner that changes during the load is not opened, on desktop and on a phone",
        ]),
    ),
    (
        "of two forced loads the older one overwrites nothing",
        Browser(&[
            "script 9: of two forced loads of one task the older one overwrites nothing",
            "of one task that overlap: only the newest writes, whichever ends last",
        ]),
    ),
    (
        "a replaced phone sheet's load moves nothing",
        Browser(&[
            "script 9: a sheet that a wider window replaced during the load neither moves nor closes anything",
        ]),
    ),
    (
        "without an owner the outgoing layout is released first",
        Browser(&["script 9: without an owner the session is released and the task-only route opens"]),
    ),
    (
        "a stale browser's answer is a conflict and prompts nobody",
        Both(
            &["an_answer_to_a_superseded_question_is_a_conflict_and_prompts_nobody"],
            &[
                "script 6: a page that still shows a superseded question gets a conflict, and nothing is written or resumed",
            ],
        ),
    ),
    (
        "a detached answer that is not accepted can be sent again, once",
        Both(
            &["an_answer_that_is_not_accepted_can_be_sent_again_and_arrives_once"],
            &["script 7: a refused delivery keeps the answer, and sending it again resumes once"],
        ),
    ),
    (
        "an accepted answer whose start is not published stays final",
        By(&[
            "an_accepted_answer_whose_turn_cannot_be_announced_stays_final_and_is_announced_by_the_next_start",
            "a_turn_that_cannot_be_announced_yet_is_settled_when_the_bus_takes_it",
        ]),
    ),
    (
        "an accepted answer whose transport fails later is not reopened",
        By(&["an_accepted_answer_whose_agent_fails_afterwards_is_not_reopened"]),
    ),
    (
        "a stop between reservation and attempt gives exactly the claimed rows back",
        By(&["a_reservation_without_an_attempt_is_deleted_and_exactly_its_rows_are_given_back"]),
    ),
    (
        "a stop between attempt and acknowledgement keeps the successor",
        By(&["an_attempt_without_an_acknowledgement_is_kept_as_the_current_turn_and_never_sent_again"]),
    ),
    (
        "a stop between claim and hand-over gives the claim back",
        Both(
            &[
                "a_claim_that_reached_neither_a_waiter_nor_a_dispatch_is_given_back",
                "a_claim_that_a_newer_turn_or_the_sessions_end_overtook_is_retired_and_revives_nothing",
            ],
            &["script 11: a server that dies with an answer in its hands gives the question back once"],
        ),
    ),
    (
        "a waiter returns nothing before its confirmation",
        By(&[
            "an_answer_is_not_returned_before_its_confirmation_is_durable",
            "a_confirmed_answer_is_final_after_a_crash_and_its_agent_reads_it",
        ]),
    ),
    (
        "a confirmation that outlives the responder wins or loses whole",
        By(&[
            "a_confirmation_that_outlives_the_responders_wait_wins_or_loses_whole",
            "a_response_that_its_waiter_never_takes_is_given_back",
        ]),
    ),
    (
        "a withdrawal before the claim ends the responder at once",
        By(&[
            "a_withdrawal_before_the_claim_is_a_conflict_and_after_it_preempts_nothing",
            "a_waiter_that_is_lost_before_the_claim_sends_the_answer_along_the_detached_path",
        ]),
    ),
    (
        "a watchdog of a superseded turn prompts nobody",
        By(&[
            "a_silent_agent_is_prompted_once_with_the_answer_that_it_took",
            "a_refused_fallback_is_not_repeated",
            "a_watchdog_of_an_agent_that_is_out_of_reach_holds_no_other_up",
            "two_answers_taken_in_one_turn_make_one_fallback_that_tells_both",
            "whatever_an_agent_does_quiets_its_watchdog_and_so_does_the_end_of_its_turn",
            "a_session_without_a_watchdog_prompts_nobody",
            "a_deadline_that_passed_while_no_server_ran_fires_once_after_the_whole_time_again",
        ]),
    ),
    (
        "activity and shutdown reach a watchdog at work",
        By(&[
            "an_agent_that_shows_itself_during_the_call_has_it_taken_back_where_that_is_proven",
            "a_shutdown_during_the_call_leaves_no_dispatch_without_an_end",
        ]),
    ),
    (
        "an attempted successor is in no history before it is proven",
        By(&["an_attempted_successor_is_in_no_history_until_it_is_announced_or_a_message_proves_it"]),
    ),
    (
        "a predecessor's ready event never completes the successor",
        By(&["a_predecessors_ready_event_waits_for_the_dispatch_and_completes_only_its_own_turn"]),
    ),
    (
        "a rollback that fails blocks its session until recovery",
        By(&["a_rollback_that_cannot_be_written_lets_nothing_into_its_session_until_the_next_start"]),
    ),
    ("every spelling of the attempt marker counts", By(&["every_spelling_of_the_attempt_marker_keeps_the_turn"])),
    (
        "a ready event without a generation is dropped after a rollback",
        By(&["a_ready_event_without_a_generation_that_met_a_dispatch_is_dropped_when_that_is_rolled_back"]),
    ),
    (
        "detaching and expiring do not end with their caller",
        By(&["a_caller_that_is_gone_does_not_keep_its_question_from_detaching_or_expiring"]),
    ),
    (
        "an ended session leaves nothing answerable",
        By(&["an_ended_sessions_questions_are_expired_when_its_end_is_told"]),
    ),
    (
        "an acknowledgement that does not come in time is no acceptance",
        By(&["an_agent_that_does_not_acknowledge_in_time_gives_the_question_back_where_that_is_proven"]),
    ),
    (
        "a reservation that cannot be reconciled refuses the start",
        By(&["a_start_that_cannot_recover_opens_no_port"]),
    ),
    (
        "a kept turn's events are replayed in order until they are taken",
        By(&["a_kept_turns_events_are_replayed_in_order_until_the_bus_takes_them"]),
    ),
    (
        "a malformed list of claimed rows changes nothing",
        By(&["recovery_metadata_that_cannot_be_read_refuses_the_start_by_name_and_changes_nothing"]),
    ),
    (
        "a pending owner that changes during a load is not opened",
        Browser(&[
            "script 9: a pending owner that changes during the load is not opened, on desktop and on a phone",
            "goes task-only when the summary has %s after the load, also after a failed one",
        ]),
    ),
    (
        "a restored claim is told after the summary converged",
        By(&["an_answer_is_told_to_be_retryable_when_the_summary_shows_its_question_again"]),
    ),
    (
        "a restored answer stays safe to retry when telling it fails",
        Both(
            &[
                "a_restored_answer_that_cannot_be_announced_is_still_told_to_be_safe_to_retry",
                "an_answer_whose_summary_does_not_converge_is_still_told_to_be_safe_to_retry",
            ],
            &["script 7: a refused delivery keeps the answer, and sending it again resumes once"],
        ),
    ),
    (
        "a task that disappears during a load moves nothing",
        Browser(&[
            "script 9: a task that disappears during the load moves nothing, and the sheet stays open",
            "moves nothing when the task is gone",
        ]),
    ),
    (
        "an aborted older load moves nothing",
        Browser(&[
            "whose load was aborted by a newer one moves nothing",
            "script 9: a later choice makes the earlier one inert",
        ]),
    ),
    ("two phone sheets do not invalidate each other", Browser(&["in one sheet does not disturb another sheet's"])),
    (
        "a list that cannot be projected is an error",
        Both(
            &["a_list_that_cannot_be_projected_is_an_error_and_never_a_clean_list"],
            &["script 9: a list that cannot be projected leads to the task-only route, and not to a clean task"],
        ),
    ),
    (
        "what is told last is what the store holds",
        By(&["what_is_told_last_is_what_the_store_holds_however_close_ends_and_beginnings_come"]),
    ),
];

fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_scenario_names_the_tests_that_show_it_and_they_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut text, mut web) = (String::new(), String::new());
    sources(&root.join("tests/it/scenarios"), &mut text);
    for folder in ["web-example/e2e", "web-example/test"] {
        sources(&root.join(folder), &mut web);
    }
    let web = web.replace("\\'", "'");
    let is_test = |name: &str| text.contains(&format!("test]\nasync fn {name}()"));
    let is_web_test =
        |name: &str| [" test", "\ntest", "])"].iter().any(|call| web.contains(&format!("{call}('{name}'")));
    for (title, shown) in &SCENARIOS {
        let (own, theirs): (&[_], &[_]) = match shown {
            By(tests) => (tests, &[]),
            Both(tests, scripts) => (tests, scripts),
            Browser(scripts) => (&[], scripts),
        };
        assert!(!own.is_empty() || !theirs.is_empty(), "{title}");
        assert!(own.iter().all(|name| is_test(name)), "{title}: {own:?}");
        assert!(theirs.iter().all(|name| is_web_test(name)), "{title}: {theirs:?}");
    }
    let named = |name: &str| {
        SCENARIOS.iter().any(|(_, shown)| matches!(shown, By(tests) | Both(tests, _) if tests.contains(&name)))
    };
    let tests = text.split("test]\nasync fn ").skip(1).map(|rest| rest.split('(').next().unwrap());
    let stray: Vec<_> = tests.filter(|name| !name.contains('{') && !named(name)).collect();
    assert!(stray.is_empty(), "no scenario names {stray:?}");
}

#[test]
fn every_script_of_the_page_is_there_and_no_test_of_it_is_left_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut scripts, mut units) = (String::new(), String::new());
    sources(&root.join("web-example/e2e"), &mut scripts);
    sources(&root.join("web-example/test"), &mut units);
    for number in 1..=14 {
        assert!(scripts.contains(&format!("\ntest('script {number}: ")), "no script {number}");
    }
    for mark in [".skip(", ".skipIf(", ".runIf(", ".todo(", ".only(", "{ skip:", "{ todo:", "{ only:"] {
        assert!(!scripts.contains(mark) && !units.contains(mark), "{mark}");
    }
}
