//! Properties of the metadata's encoding. May import: all of lifecycle.

use proptest::collection::{btree_map, btree_set, vec};
use proptest::option::of;
use proptest::prelude::*;
use serde_json::json;

use crate::ids::{Generation, Ordinal};
use crate::lifecycle::TurnKind;

use super::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9]{1,8}", Just(String::new()), "\\PC{0,12}"]
}

fn name() -> impl Strategy<Value = String> {
    "[a-z0-9]{1,8}"
}

fn rest() -> impl Strategy<Value = Map<String, Value>> {
    let value = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text().prop_map(Value::from),
        vec(text(), 0..3).prop_map(Value::from),
        Just(json!({"deep": [1, null]})),
    ];
    btree_map("x_[a-z]{1,6}", value, 0..4).prop_map(|map| map.into_iter().collect())
}

fn spec() -> impl Strategy<Value = QuestionSpec> {
    let choice = (name(), text(), text()).prop_map(|(id, label, description)| Choice {
        id: OptionId::new(id),
        label,
        description,
    });
    (name(), text(), text(), vec(choice, 0..4), any::<[bool; 3]>()).prop_map(
        |(id, title, prompt, options, [multi_select, allow_custom_text, secret])| QuestionSpec {
            id: QuestionId::new(id),
            title,
            prompt,
            options,
            multi_select,
            allow_custom_text,
            secret,
        },
    )
}

fn status() -> impl Strategy<Value = Status> {
    prop_oneof![
        Just(Status::Pending),
        Just(Status::Answered),
        Just(Status::Rejected),
        Just(Status::Expired),
        Just(Status::Cancelled),
        "other_[a-z]{1,4}".prop_map(Status::Other),
    ]
}

fn outcome() -> impl Strategy<Value = DispatchOutcome> {
    prop_oneof![
        Just(DispatchOutcome::Accepted),
        Just(DispatchOutcome::Unknown),
        Just(DispatchOutcome::NotAccepted)
    ]
}

fn claim() -> impl Strategy<Value = Claim> {
    (name(), any::<[bool; 2]>(), any::<i64>(), text(), any::<i64>()).prop_map(
        |(id, [is_open, is_retired], epoch, principal, at)| Claim {
            id: ClaimId::new(id),
            is_open,
            is_retired,
            epoch: Epoch(epoch),
            principal: PrincipalId::new(principal),
            responded_at: Micros(at),
        },
    )
}

fn answer() -> impl Strategy<Value = Answer> {
    (vec(name(), 0..3), of(text())).prop_map(|(ids, custom_text)| Answer {
        option_ids: ids.into_iter().map(OptionId::new).collect(),
        custom_text,
    })
}

fn columns() -> QuestionColumns {
    QuestionColumns {
        id: MessageId::new("m"),
        turn_id: TurnId::new("t"),
        created_at: Micros(1),
        updated_at: Micros(2),
    }
}

fn question() -> impl Strategy<Value = Question> {
    let standing = (status(), any::<[bool; 4]>(), of(answer()), of(claim()), of(name()), of(outcome()));
    let asked = (name(), 0i64..9, 1i64..9, spec(), text(), text(), rest());
    (standing, asked).prop_map(|(standing, asked)| {
        let (
            status,
            [is_absent, is_detached, is_result_received, is_watchdog_spent],
            answer,
            claim,
            turn,
            outcome,
        ) = standing;
        let (pending_id, index, total, spec, context, reject_reason, rest) = asked;
        let QuestionColumns { id, turn_id, created_at, updated_at } = columns();
        Question {
            id,
            turn_id,
            created_at,
            updated_at,
            pending_id: PendingId::new(pending_id),
            index,
            total,
            spec,
            context,
            is_status_absent: is_absent && status == Status::Pending,
            status,
            is_detached,
            answer,
            reject_reason,
            claim,
            dispatched_turn_id: turn.map(TurnId::new),
            dispatch_outcome: outcome,
            is_result_received,
            is_watchdog_spent,
            rest,
        }
    })
}

fn bare_turn() -> Turn {
    Turn {
        id: TurnId::new("t"),
        ordinal: Ordinal(3),
        kind: TurnKind::Work,
        generation: Generation(2),
        started_at: Micros(4),
        wall_at: Micros(5),
        end: None,
        has_evidence: false,
        reservation: None,
        dispatch_outcome: None,
        lease: None,
        watchdog: None,
        malformed: None,
        rest: Map::new(),
    }
}

fn reservation() -> impl Strategy<Value = Reservation> {
    let source =
        (of(name()), name(), text(), btree_set(name(), 0..3)).prop_map(|(claim, pending, turn, ids)| ClaimRef {
            claim_id: claim.map(ClaimId::new),
            pending_id: PendingId::new(pending),
            turn_id: TurnId::new(turn),
            message_ids: ids.into_iter().map(MessageId::new).collect(),
        });
    (any::<[bool; 2]>(), of(source), text(), any::<i64>()).prop_map(
        |([is_attempted, is_acknowledged], source, prompt, epoch)| Reservation {
            is_attempted,
            is_acknowledged,
            source,
            prompt,
            epoch: Epoch(epoch),
        },
    )
}

fn turn() -> impl Strategy<Value = Turn> {
    let earlier = vec(name().prop_map(PendingId::new), 0..3);
    let watchdog = (name(), earlier, any::<i64>()).prop_map(|(id, earlier, at)| Watchdog {
        pending_id: PendingId::new(id),
        earlier,
        deadline: Micros(at),
    });
    let lease = (text(), any::<[i64; 2]>()).prop_map(|(token_hash, [claimed, until])| Lease {
        token_hash,
        claimed_at: Micros(claimed),
        until: Micros(until),
    });
    (of(reservation()), of(outcome()), of(lease), of(watchdog), rest()).prop_map(
        |(reservation, dispatch_outcome, lease, watchdog, rest)| Turn {
            reservation,
            dispatch_outcome,
            lease,
            watchdog,
            rest,
            ..bare_turn()
        },
    )
}

/// Values that stand where another type is expected.
fn garbage() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!([1])),
        Just(json!({"a": 1})),
        Just(json!("garbage")),
        Just(json!(7.5)),
        Just(json!(null)),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
    ]
}

proptest! {
    #[test]
    fn a_question_survives_its_metadata(question in question()) {
        let back = read_question(columns(), question_metadata(&question));
        prop_assert_eq!(back, Ok(question));
    }

    #[test]
    fn a_turn_survives_its_metadata(turn in turn()) {
        let back = read_turn(bare_turn(), turn_metadata(&turn));
        prop_assert_eq!(back, turn);
    }

    #[test]
    fn garbage_reads_the_same_after_a_rewrite(
        question in question(),
        key in prop::sample::select(vec![
            "status", "agent_disconnected", "response", "response_delivery_pending", "claim_id", "claim_epoch",
            "claim_retired", "responded_at_us", "dispatch_outcome", "result_received", "context", "question_index",
        ]),
        value in garbage(),
    ) {
        let mut metadata = question_metadata(&question);
        metadata.insert(key.to_owned(), value);
        if let Ok(first) = read_question(columns(), metadata) {
            let second = read_question(columns(), question_metadata(&first)).unwrap();
            let meaning = |question: Question| Question { rest: Map::new(), ..question };
            prop_assert_eq!(meaning(second), meaning(first));
        }
    }

    #[test]
    fn unreadable_recovery_keys_are_named_and_kept(
        reservation in reservation(),
        key in prop::sample::select(vec![
            "prompt_dispatch_attempted", "prompt_dispatch_clarification_message_ids", "prompt_dispatch_epoch",
            "prompt_dispatch_prompt", "prompt_dispatch_claim_id",
        ]),
    ) {
        let turn = Turn { reservation: Some(reservation), ..bare_turn() };
        let mut metadata = turn_metadata(&turn);
        metadata.insert(key.to_owned(), json!({"not": "readable"}));
        let read = read_turn(bare_turn(), metadata.clone());
        prop_assert!(read.malformed.as_ref().is_some_and(|reason| reason.contains(key)));
        let written = turn_metadata(&read);
        prop_assert_eq!(written.get(key), metadata.get(key));
        prop_assert_eq!(read_turn(bare_turn(), written), read);
    }
}

#[test]
fn the_four_spellings_of_true_are_equal_and_nothing_else_is() {
    for value in [json!(true), json!("true"), json!("1"), json!(1)] {
        assert!(is_flag(&value), "{value}");
    }
    for value in
        [json!(false), json!("TRUE"), json!("yes"), json!(2), json!(1.0), json!(null), json!([true]), json!({})]
    {
        assert!(!is_flag(&value), "{value}");
    }
}

#[test]
fn unknown_keys_survive_even_inside_the_question() {
    let metadata = json!({
        "pending_id": "p", "theirs": [1, 2],
        "question": {"id": "q1", "prompt": "Which?", "theirs_too": {"a": null}},
    });
    let Value::Object(metadata) = metadata else { unreachable!() };
    let written = question_metadata(&read_question(columns(), metadata).unwrap());
    assert_eq!(written["theirs"], json!([1, 2]));
    assert_eq!(written["question"]["theirs_too"], json!({"a": null}));
    assert_eq!(written["question"]["prompt"], "Which?");
}

#[test]
fn a_row_without_what_makes_it_a_question_is_refused_by_key() {
    let whole = json!({"pending_id": "p", "status": "pending", "question": {"id": "q1", "prompt": "Which?"}});
    for (key, value) in [
        ("pending_id", json!("")),
        ("pending_id", json!(5)),
        ("status", json!({})),
        ("question", json!("text")),
        ("question", json!({"id": 7, "prompt": "Which?"})),
        ("question", json!({"id": "q1", "prompt": []})),
    ] {
        let mut metadata = whole.as_object().unwrap().clone();
        assert!(read_question(columns(), metadata.clone()).is_ok());
        metadata.insert(key.to_owned(), value);
        assert!(read_question(columns(), metadata).is_err_and(|reason| reason.starts_with(key)));
    }
}

#[test]
fn an_intent_of_an_older_writer_is_named_by_its_bundle_and_owned_by_nobody() {
    let metadata = json!({
        "pending_id": "p", "status": "answered", "response_delivery_pending": "1",
        "question": {"id": "q1", "prompt": "Which?"},
    });
    let question = read_question(columns(), metadata.as_object().unwrap().clone()).unwrap();
    let claim = question.claim.unwrap();
    assert_eq!((claim.id.as_str(), claim.is_open, claim.epoch), ("p", true, Epoch(0)));
    assert_eq!(claim.responded_at, Micros(2));
}

#[test]
fn private_keys_are_not_public() {
    let claim = json!({
        "claim_id": "c", "claim_epoch": 1, "response_delivery_pending": true, "prompt_dispatch_prompt": "x",
        "status": "answered", "theirs": 1,
    });
    let public = public_metadata(claim.as_object().unwrap());
    assert_eq!(public.keys().collect::<Vec<_>>(), ["status", "theirs"]);
}

#[test]
fn whatever_stands_in_a_row_is_inert_or_read_the_same_once_it_is_written() {
    crate::fuzz::fuzz("metadata", 20_000, |bytes| {
        let Ok(metadata) = serde_json::from_slice::<Map<String, Value>>(bytes) else { return };
        if let Ok(question) = read_question(columns(), metadata.clone()) {
            let again = read_question(columns(), question_metadata(&question)).unwrap();
            // A value of a wrong type stands for the one that is written in its place.
            assert_eq!(again, Question { rest: again.rest.clone(), ..question });
        }
        let turn = read_turn(bare_turn(), metadata);
        assert_eq!(read_turn(bare_turn(), turn_metadata(&turn)), turn);
    });
}
