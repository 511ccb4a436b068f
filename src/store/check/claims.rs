//! What must hold of bundles, claims, reservations and waiters. May import: the store's shared parts.

use super::Rule;

pub(super) const RULES: &[Rule] = &[
    Rule {
        invariant: "INV-06",
        says: "two responses are being delivered, or a question that is not decided carries one",
        sql: "SELECT 'session ' || session_id || ', bundle ' || pending_id AS found
            FROM task_session_messages WHERE has_intent GROUP BY session_id, pending_id
            HAVING COUNT(DISTINCT COALESCE(json_extract(metadata, '$.claim_id'), '')) > 1
            UNION ALL
            SELECT 'session ' || session_id || ', bundle ' || pending_id || ', message ' || id
            FROM task_session_messages WHERE is_open AND json_type(metadata, '$.claim_id') = 'text'",
    },
    Rule {
        invariant: "INV-08",
        says: "a bundle was dispatched twice, or is answerable again after a dispatch",
        sql: "SELECT 'session ' || session_id || ', bundle ' || pending_id AS found
            FROM task_session_messages WHERE is_question GROUP BY session_id, pending_id
            HAVING COUNT(DISTINCT json_extract(metadata, '$.dispatched_turn_id')) > 1
            UNION ALL
            SELECT 'session ' || session_id || ', bundle ' || pending_id || ', message ' || id
            FROM task_session_messages WHERE is_open AND json_type(metadata, '$.dispatched_turn_id') = 'text'",
    },
    Rule {
        invariant: "INV-09",
        says: "a skip was dispatched",
        sql: "SELECT 'session ' || session_id || ', bundle ' || pending_id || ', message ' || id AS found
            FROM task_session_messages
            WHERE is_question AND status = 'rejected' AND json_type(metadata, '$.dispatched_turn_id') = 'text'",
    },
    Rule {
        invariant: "INV-11",
        says: "an agent received a result that is not final",
        sql: "SELECT 'session ' || session_id || ', bundle ' || pending_id || ', message ' || id AS found
            FROM task_session_messages WHERE (is_open OR has_intent)
                AND COALESCE(CAST(json_extract(metadata, '$.result_received') AS TEXT) IN ('true', '1'), FALSE)",
    },
    Rule {
        invariant: "INV-12",
        says: "the turn that carries an answer is not there",
        sql: "SELECT 'session ' || m.session_id || ', bundle ' || m.pending_id || ', message ' || m.id AS found
            FROM task_session_messages m
            WHERE m.is_question AND json_type(m.metadata, '$.dispatched_turn_id') = 'text'
                AND NOT EXISTS (SELECT 1 FROM task_session_turns t WHERE t.session_id = m.session_id
                    AND t.id = json_extract(m.metadata, '$.dispatched_turn_id'))",
    },
    Rule {
        invariant: "INV-14",
        says: "a reservation names other questions than its claim took",
        sql: "SELECT 'session ' || t.session_id || ', turn ' || t.id AS found FROM task_session_turns t
            WHERE t.is_reserved AND json_type(t.metadata, '$.prompt_dispatch_claim_id') = 'text'
                AND json_type(t.metadata, '$.prompt_dispatch_clarification_message_ids') = 'array'
                AND NOT EXISTS (SELECT 1
                    FROM json_each(t.metadata, '$.prompt_dispatch_clarification_message_ids') WHERE type <> 'text')
                AND (
                    EXISTS (SELECT value
                        FROM json_each(t.metadata, '$.prompt_dispatch_clarification_message_ids')
                        EXCEPT SELECT m.id FROM task_session_messages m
                        WHERE m.has_intent AND m.session_id = t.session_id
                            AND json_extract(m.metadata, '$.claim_id')
                                = json_extract(t.metadata, '$.prompt_dispatch_claim_id'))
                    OR EXISTS (SELECT m.id FROM task_session_messages m
                        WHERE m.has_intent AND m.session_id = t.session_id
                            AND json_extract(m.metadata, '$.claim_id')
                                = json_extract(t.metadata, '$.prompt_dispatch_claim_id')
                        EXCEPT SELECT value
                        FROM json_each(t.metadata, '$.prompt_dispatch_clarification_message_ids')))",
    },
    Rule {
        invariant: "INV-16",
        says: "a response was given back by half: its key still leads to it",
        sql: "SELECT 'session ' || k.session_id || ', bundle ' || k.result_id AS found FROM client_keys k
            WHERE k.result_kind = 'responded'
                AND EXISTS (SELECT 1 FROM task_session_messages m
                    WHERE m.is_open AND m.pending_id = k.result_id AND m.session_id = k.session_id)
                AND NOT EXISTS (SELECT 1 FROM task_session_messages m
                    WHERE m.is_question AND m.pending_id = k.result_id AND m.session_id = k.session_id
                        AND json_extract(m.metadata, '$.claim_id') = k.result_claim)",
    },
    Rule {
        invariant: "INV-27",
        says: "a row names a backend generation that was never given out",
        sql: "WITH newest AS (SELECT COALESCE(MAX(epoch), 0) AS epoch FROM backend_generations)
            SELECT 'session ' || m.session_id || ', message ' || m.id AS found
            FROM task_session_messages m, newest
            WHERE m.is_question AND CAST(json_extract(m.metadata, '$.claim_epoch') AS BIGINT) > newest.epoch
            UNION ALL
            SELECT 'session ' || t.session_id || ', turn ' || t.id FROM task_session_turns t, newest
            WHERE t.is_reserved AND CAST(json_extract(t.metadata, '$.prompt_dispatch_epoch') AS BIGINT) > newest.epoch
            UNION ALL
            SELECT 'session ' || w.session_id || ', waiter ' || w.id FROM clarification_waiters w, newest
            WHERE w.epoch > newest.epoch",
    },
    Rule {
        invariant: "INV-31",
        says: "a bundle without one turn of its own is being delivered or waited for",
        sql: "SELECT 'session ' || session_id || ', bundle ' || pending_id AS found FROM (
                SELECT m.session_id AS session_id, m.pending_id AS pending_id, COUNT(*) FILTER (WHERE m.has_intent) AS claimed,
                    COUNT(DISTINCT NULLIF(m.turn_id, '')) AS turns,
                    COUNT(*) FILTER (WHERE m.turn_id <> '' AND NOT EXISTS (SELECT 1 FROM task_session_turns t
                        WHERE t.id = m.turn_id AND t.session_id = m.session_id)) AS lost
                FROM task_session_messages m WHERE m.is_question GROUP BY m.session_id, m.pending_id
            ) b WHERE (b.turns <> 1 OR b.lost > 0)
                AND (b.claimed > 0 OR EXISTS (SELECT 1 FROM clarification_waiters w
                    WHERE w.pending_id = b.pending_id AND w.session_id = b.session_id))",
    },
    Rule {
        invariant: "INV-34",
        says: "nobody delivers this response or resolves this dispatch: its server is gone, and another has started",
        sql: "SELECT 'session ' || m.session_id || ', bundle ' || m.pending_id AS found
            FROM task_session_messages m
            WHERE m.has_intent AND NOT EXISTS (SELECT 1 FROM backend_generations g WHERE g.ended_us IS NULL
                AND g.epoch = COALESCE(CAST(json_extract(m.metadata, '$.claim_epoch') AS BIGINT), 0))
            GROUP BY m.session_id, m.pending_id
            UNION ALL
            SELECT 'session ' || t.session_id || ', turn ' || t.id FROM task_session_turns t
            WHERE t.is_reserved AND NOT EXISTS (SELECT 1 FROM backend_generations g WHERE g.ended_us IS NULL
                AND g.epoch = COALESCE(CAST(json_extract(t.metadata, '$.prompt_dispatch_epoch') AS BIGINT), 0))",
    },
    Rule {
        invariant: "INV-36",
        says: "the questions of one response say different things of who responded, and when",
        sql: "SELECT 'session ' || session_id || ', bundle ' || pending_id AS found FROM task_session_messages
            WHERE is_question AND json_type(metadata, '$.claim_id') = 'text'
            GROUP BY session_id, pending_id, json_extract(metadata, '$.claim_id')
            HAVING COUNT(DISTINCT json_extract(metadata, '$.responded_at_us')) > 1
                OR COUNT(DISTINCT json_extract(metadata, '$.responded_by')) > 1",
    },
    Rule {
        invariant: "INV-37",
        says: "a waiter or watchdog outlives what it is for",
        sql: "SELECT 'session ' || w.session_id || ', bundle ' || w.pending_id || ', waiter ' || w.id AS found
            FROM clarification_waiters w
            WHERE NOT EXISTS (SELECT 1 FROM task_session_messages m WHERE m.is_question
                    AND m.pending_id = w.pending_id AND m.session_id = w.session_id AND (m.is_open OR m.has_intent))
                OR EXISTS (SELECT 1 FROM backend_generations g WHERE g.epoch = w.epoch AND g.ended_us IS NOT NULL)
            UNION ALL
            SELECT 'session ' || t.session_id || ', turn ' || t.id FROM task_session_turns t
            WHERE t.has_watchdog AND EXISTS (
                SELECT 1 FROM (SELECT json_extract(t.metadata, '$.watchdog_pending_id') AS id
                    UNION ALL SELECT value FROM json_each(t.metadata, '$.watchdog_earlier_pending_ids')) watched
                WHERE NOT EXISTS (SELECT 1 FROM task_session_messages m WHERE m.is_question
                    AND m.session_id = t.session_id AND m.pending_id = watched.id))",
    },
];
