//! What must hold of the event log. Events older than the log reaches back prove nothing.
//! May import: the store's shared parts.

use super::Rule;

macro_rules! with_told {
    ($sql:literal) => {
        concat!(
            "WITH told AS MATERIALIZED (
                SELECT json_extract(body, '$.turn_id') AS turn_id,
                    MIN(CASE WHEN json_extract(body, '$.kind') = 'TURN_STARTED' THEN position END) AS started,
                    MIN(CASE WHEN json_extract(body, '$.kind') = 'TURN_COMPLETED' THEN position END) AS completed
                FROM outbox_events WHERE json_extract(body, '$.kind') IN ('TURN_STARTED', 'TURN_COMPLETED')
                GROUP BY 1
            ), oldest AS (SELECT COALESCE(MIN(created_us), 0) AS at_us FROM outbox_events) ",
            $sql
        )
    };
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        invariant: "INV-18",
        says: "one change was announced twice",
        sql: "SELECT json_extract(body, '$.kind') || ' of '
                || COALESCE(json_extract(body, '$.message_id'), json_extract(body, '$.turn_id')) AS found
            FROM outbox_events
            WHERE json_extract(body, '$.kind') IN
                ('MESSAGE_ADDED', 'MESSAGE_DELETED', 'TURN_STARTED', 'TURN_COMPLETED')
            GROUP BY 1 HAVING COUNT(*) > 1",
    },
    Rule {
        invariant: "INV-19",
        says: "a reservation was announced that no agent acknowledged",
        sql: with_told!(
            "SELECT 'session ' || t.session_id || ', turn ' || t.id AS found
            FROM task_session_turns t JOIN told ON told.turn_id = t.id
            WHERE t.is_reserved AND told.started IS NOT NULL AND NOT COALESCE(
                CAST(json_extract(t.metadata, '$.prompt_dispatch_acknowledged') AS TEXT) IN ('true', '1'), FALSE)"
        ),
    },
    Rule {
        invariant: "INV-20",
        says: "an event carries a private field",
        sql: "SELECT 'event ' || e.event_id || ', field ' || j.fullkey AS found
            FROM outbox_events e, json_tree(e.body) j
            WHERE j.key LIKE 'prompt\\_dispatch\\_%' ESCAPE '\\' OR j.key LIKE 'claim\\_%' ESCAPE '\\'
                OR j.key = 'response_delivery_pending'",
    },
    Rule {
        invariant: "INV-21",
        says: "a turn's start or end was never announced, or its end before its start",
        sql: with_told!(
            "SELECT 'session ' || t.session_id || ', turn ' || t.id AS found
            FROM task_session_turns t CROSS JOIN oldest LEFT JOIN told ON told.turn_id = t.id
            WHERE (NOT t.is_reserved AND told.started IS NULL AND t.wall_us >= oldest.at_us)
                OR (t.has_ended AND told.completed IS NULL AND t.ended_us >= oldest.at_us)
                OR told.completed < told.started"
        ),
    },
    Rule {
        invariant: "INV-22",
        says: "the bus took a later event of the session before this one",
        sql: "SELECT 'session ' || o.session_id || ', event ' || o.event_id AS found FROM outbox_events o
            WHERE NOT o.is_accepted AND EXISTS (SELECT 1 FROM outbox_events l
                WHERE l.session_id = o.session_id AND l.position > o.position AND l.is_accepted)",
    },
];
