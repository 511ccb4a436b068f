//! What must hold of sessions and turns. May import: the store's shared parts.

use super::Rule;

/// The one rule is written here a second time: nothing asks the views that it checks.
macro_rules! with_rule {
    ($sql:literal) => {
        concat!(
            "WITH turn_now AS (
                SELECT s.id AS session_id, s.is_live AS is_live,
                    (SELECT t.id FROM task_session_turns t
                        WHERE t.session_id = s.id AND t.kind = 'work'
                            AND (t.has_evidence OR t.is_attempted OR NOT t.is_reserved)
                        ORDER BY t.ordinal DESC LIMIT 1) AS turn_id
                FROM task_sessions s
            ), active AS (
                SELECT m.session_id AS session_id, m.pending_id AS pending_id
                FROM task_session_messages m JOIN turn_now n ON n.session_id = m.session_id AND n.is_live
                WHERE m.is_question
                GROUP BY m.session_id, m.pending_id
                HAVING COUNT(*) FILTER (
                    WHERE COALESCE(NULLIF(json_extract(m.metadata, '$.status'), ''), 'pending') = 'pending') > 0
                    AND COUNT(DISTINCT NULLIF(m.turn_id, '')) = 1
                    AND MAX(m.turn_id) = MAX(n.turn_id)
            ), alive AS (
                SELECT w.pending_id AS pending_id FROM clarification_waiters w
                JOIN backend_generations g ON g.epoch = w.epoch AND g.ended_us IS NULL
            ) ",
            $sql
        )
    };
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        invariant: "INV-01",
        says: "what is shown as waiting for an answer is not what the one rule says",
        sql: with_rule!(
            "SELECT 'session ' || session_id || ', bundle ' || pending_id AS found FROM (
                SELECT session_id, pending_id FROM active EXCEPT SELECT session_id, pending_id FROM active_rows
            ) hidden UNION ALL
            SELECT 'session ' || session_id || ', bundle ' || pending_id FROM (
                SELECT session_id, pending_id FROM active_rows EXCEPT SELECT session_id, pending_id FROM active
            ) shown"
        ),
    },
    Rule {
        invariant: "INV-02",
        says: "a turn with a greater ordinal did not start later",
        sql: "SELECT 'session ' || session_id || ', turn ' || id AS found FROM (
                SELECT session_id, id, started_us,
                    LAG(started_us) OVER (PARTITION BY session_id ORDER BY ordinal) AS before_us
                FROM task_session_turns
            ) t WHERE started_us <= before_us",
    },
    Rule {
        invariant: "INV-03",
        says: "the session does not remember its newest turn, so the next one could stand behind it",
        sql: "SELECT 'session ' || s.id AS found FROM task_sessions s
            WHERE s.last_ordinal < (SELECT MAX(t.ordinal) FROM task_session_turns t WHERE t.session_id = s.id)
                OR s.last_started_us < (SELECT MAX(t.started_us) FROM task_session_turns t WHERE t.session_id = s.id)",
    },
    Rule {
        invariant: "INV-04",
        says: "a superseded turn is current again",
        sql: with_rule!(
            "SELECT 'session ' || n.session_id || ', turn ' || t.id AS found
            FROM turn_now n JOIN task_session_turns t ON t.id = n.turn_id WHERE t.end_kind = 'superseded'"
        ),
    },
    Rule {
        invariant: "INV-05",
        says: "a message references a reservation that does not remember it",
        sql: "SELECT 'session ' || t.session_id || ', turn ' || t.id AS found FROM task_session_turns t
            WHERE t.is_reserved AND NOT t.has_evidence
                AND EXISTS (SELECT 1 FROM task_session_messages m WHERE m.turn_id = t.id)",
    },
    Rule {
        invariant: "INV-10",
        says: "a dispatch has an outcome and no attempt marker",
        sql: "SELECT 'session ' || session_id || ', turn ' || id AS found FROM task_session_turns
            WHERE is_reserved AND NOT is_attempted AND (
                COALESCE(CAST(json_extract(metadata, '$.prompt_dispatch_acknowledged') AS TEXT) IN ('true', '1'), FALSE)
                OR json_type(metadata, '$.dispatch_outcome') IS NOT NULL)",
    },
    Rule {
        invariant: "INV-17",
        says: "a question is marked detached while somebody waits for it, or is not while nobody does",
        sql: with_rule!(
            "SELECT 'session ' || m.session_id || ', bundle ' || m.pending_id || ', message ' || m.id AS found
            FROM active a JOIN task_session_messages m
                ON m.is_question AND m.pending_id = a.pending_id AND m.session_id = a.session_id
            WHERE m.is_open AND m.is_detached = EXISTS (SELECT 1 FROM alive w WHERE w.pending_id = a.pending_id)"
        ),
    },
    Rule {
        invariant: "INV-26",
        says: "the session shows another pending action than its rows give",
        sql: with_rule!(
            "SELECT 'session ' || s.id AS found
            FROM task_sessions s JOIN turn_now n ON n.session_id = s.id
            JOIN session_projections p ON p.session_id = s.id
            WHERE p.pending_action IS DISTINCT FROM CASE
                WHEN s.state NOT IN ('RUNNING', 'WAITING_FOR_INPUT') THEN NULL
                WHEN EXISTS (SELECT 1 FROM active_rows a WHERE a.session_id = s.id) THEN 'clarification'
                WHEN EXISTS (SELECT 1 FROM task_session_messages m
                    WHERE m.is_permission_open AND m.session_id = s.id AND m.turn_id = n.turn_id) THEN 'permission'
            END"
        ),
    },
    Rule {
        invariant: "INV-29",
        says: "a session that is over still delivers a response",
        sql: "SELECT 'session ' || s.id || ', bundle ' || m.pending_id AS found FROM task_sessions s
            JOIN task_session_messages m ON m.has_intent AND m.session_id = s.id
            WHERE s.state IN ('COMPLETED', 'FAILED', 'CANCELLED') GROUP BY s.id, m.pending_id",
    },
    Rule {
        invariant: "INV-33",
        says: "two dispatches of one session are unresolved",
        sql: "SELECT 'session ' || session_id AS found FROM task_session_turns
            WHERE is_reserved GROUP BY session_id HAVING COUNT(*) > 1",
    },
    Rule {
        invariant: "INV-38",
        says: "a session or event names another workspace than its task",
        sql: "SELECT 'session ' || s.id AS found FROM task_sessions s JOIN tasks t ON t.id = s.task_id
            WHERE t.workspace_id <> s.workspace_id
            UNION ALL
            SELECT 'event ' || e.event_id FROM outbox_events e JOIN tasks t ON t.id = e.task_id
            WHERE t.workspace_id <> e.workspace_id",
    },
];
