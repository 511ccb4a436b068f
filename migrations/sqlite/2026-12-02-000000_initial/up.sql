-- The initial schema. Metadata is the record; what queries need of it are generated stored columns, all made with
-- one tolerant decoder of flags: true, "true", "1" and 1 are true.

CREATE TABLE store_meta (
    key TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO store_meta (key, value) VALUES ('store_id', lower(hex(randomblob(16))));

CREATE TABLE backend_generations (
    epoch BIGINT PRIMARY KEY NOT NULL CHECK (typeof(epoch) = 'integer'),
    started_us BIGINT NOT NULL,
    heartbeat_us BIGINT NOT NULL,
    ended_us BIGINT,
    is_live BOOLEAN NOT NULL GENERATED ALWAYS AS (ended_us IS NULL) STORED
) WITHOUT ROWID;
CREATE INDEX generations_live ON backend_generations (epoch) WHERE is_live;

CREATE TABLE workspaces (
    id TEXT PRIMARY KEY NOT NULL CHECK (typeof(id) = 'text' AND id <> ''),
    name TEXT NOT NULL,
    created_us BIGINT NOT NULL CHECK (typeof(created_us) = 'integer')
);

CREATE TABLE tasks (
    id TEXT PRIMARY KEY NOT NULL CHECK (typeof(id) = 'text' AND id <> ''),
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    state TEXT NOT NULL,
    created_us BIGINT NOT NULL CHECK (typeof(created_us) = 'integer'),
    updated_us BIGINT NOT NULL CHECK (typeof(updated_us) = 'integer'),
    last_activity_us BIGINT NOT NULL CHECK (typeof(last_activity_us) = 'integer')
);
CREATE INDEX tasks_by_activity ON tasks (last_activity_us, id);
CREATE INDEX tasks_by_workspace ON tasks (workspace_id, last_activity_us, id);

CREATE TABLE task_status_summaries (
    task_id TEXT PRIMARY KEY NOT NULL REFERENCES tasks (id),
    workspace_id TEXT NOT NULL,
    revision BIGINT NOT NULL CHECK (typeof(revision) = 'integer'),
    summary TEXT NOT NULL CHECK (json_valid(summary) AND json_type(summary) = 'object'),
    updated_us BIGINT NOT NULL
);

CREATE TABLE task_sessions (
    id TEXT PRIMARY KEY NOT NULL CHECK (typeof(id) = 'text' AND id <> ''),
    task_id TEXT NOT NULL REFERENCES tasks (id),
    workspace_id TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('CREATED', 'STARTING', 'RUNNING', 'IDLE', 'WAITING_FOR_INPUT', 'COMPLETED', 'FAILED', 'CANCELLED')),
    is_primary BOOLEAN NOT NULL CHECK (is_primary IN (0, 1)),
    executor TEXT,
    agent_session TEXT,
    is_watchdog_on BOOLEAN NOT NULL CHECK (is_watchdog_on IN (0, 1)),
    generation BIGINT NOT NULL CHECK (typeof(generation) = 'integer'),
    sequence BIGINT NOT NULL CHECK (typeof(sequence) = 'integer'),
    last_ordinal BIGINT NOT NULL CHECK (typeof(last_ordinal) = 'integer'),
    last_started_us BIGINT NOT NULL CHECK (typeof(last_started_us) = 'integer'),
    created_us BIGINT NOT NULL CHECK (typeof(created_us) = 'integer'),
    updated_us BIGINT NOT NULL CHECK (typeof(updated_us) = 'integer'),
    completed_us BIGINT,
    is_live BOOLEAN NOT NULL GENERATED ALWAYS AS (state NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')) STORED,
    is_input_capable BOOLEAN NOT NULL GENERATED ALWAYS AS (state IN ('RUNNING', 'WAITING_FOR_INPUT')) STORED
);
CREATE INDEX sessions_by_task ON task_sessions (task_id, created_us, id);
CREATE INDEX sessions_live ON task_sessions (workspace_id) WHERE is_live;
CREATE INDEX sessions_input_capable ON task_sessions (task_id) WHERE is_input_capable;

CREATE TABLE task_session_turns (
    id TEXT PRIMARY KEY NOT NULL CHECK (typeof(id) = 'text' AND id <> ''),
    session_id TEXT NOT NULL REFERENCES task_sessions (id),
    ordinal BIGINT NOT NULL CHECK (typeof(ordinal) = 'integer'),
    kind TEXT NOT NULL CHECK (kind IN ('work', 'bookkeeping')),
    generation BIGINT NOT NULL CHECK (typeof(generation) = 'integer'),
    started_us BIGINT NOT NULL CHECK (typeof(started_us) = 'integer'),
    wall_us BIGINT NOT NULL CHECK (typeof(wall_us) = 'integer'),
    ended_us BIGINT,
    end_kind TEXT CHECK (end_kind IN ('completed', 'superseded', 'cancelled', 'session_ended')),
    has_evidence BOOLEAN NOT NULL CHECK (has_evidence IN (0, 1)),
    metadata TEXT NOT NULL CHECK (json_valid(metadata) AND json_type(metadata) = 'object'),
    has_ended BOOLEAN NOT NULL GENERATED ALWAYS AS (ended_us IS NOT NULL) STORED,
    is_reserved BOOLEAN NOT NULL GENERATED ALWAYS AS (
        COALESCE(CAST(json_extract(metadata, '$.prompt_dispatch_pending') AS TEXT) IN ('true', '1'), 0)
    ) STORED,
    is_attempted BOOLEAN NOT NULL GENERATED ALWAYS AS (
        COALESCE(CAST(json_extract(metadata, '$.prompt_dispatch_pending') AS TEXT) IN ('true', '1'), 0)
        AND COALESCE(CAST(json_extract(metadata, '$.prompt_dispatch_attempted') AS TEXT) IN ('true', '1'), 0)
    ) STORED,
    is_visible BOOLEAN NOT NULL GENERATED ALWAYS AS (has_evidence OR NOT is_reserved) STORED,
    is_authoritative BOOLEAN NOT NULL GENERATED ALWAYS AS (
        kind = 'work' AND (has_evidence OR is_attempted OR NOT is_reserved)
    ) STORED,
    is_ambiguous BOOLEAN NOT NULL GENERATED ALWAYS AS (
        COALESCE(json_extract(metadata, '$.dispatch_outcome') = 'UNKNOWN', 0)
    ) STORED,
    has_watchdog BOOLEAN NOT NULL GENERATED ALWAYS AS (
        COALESCE(json_type(metadata, '$.watchdog_deadline_us') = 'integer', 0)
        AND COALESCE(json_type(metadata, '$.watchdog_pending_id') = 'text', 0)
    ) STORED,
    watchdog_us BIGINT NOT NULL GENERATED ALWAYS AS (
        CASE WHEN json_type(metadata, '$.watchdog_deadline_us') = 'integer'
            THEN json_extract(metadata, '$.watchdog_deadline_us') ELSE 0 END
    ) STORED,
    CHECK ((ended_us IS NULL) = (end_kind IS NULL))
);
CREATE UNIQUE INDEX turns_by_ordinal ON task_session_turns (session_id, ordinal);
CREATE INDEX turns_authoritative ON task_session_turns (session_id, ordinal) WHERE is_authoritative;
CREATE INDEX turns_visible ON task_session_turns (session_id, ordinal) WHERE is_visible;
CREATE INDEX turns_open ON task_session_turns (session_id) WHERE NOT has_ended;
CREATE INDEX turns_reserved ON task_session_turns (session_id) WHERE is_reserved;
CREATE INDEX turns_ambiguous ON task_session_turns (id) WHERE is_ambiguous;
CREATE INDEX turns_with_watchdog ON task_session_turns (watchdog_us, id) WHERE has_watchdog;

-- turn_id has no foreign key and may be empty in imported rows; the cascade lives in the door.
CREATE TABLE task_session_messages (
    id TEXT PRIMARY KEY NOT NULL CHECK (typeof(id) = 'text' AND id <> ''),
    session_id TEXT NOT NULL REFERENCES task_sessions (id),
    turn_id TEXT NOT NULL CHECK (typeof(turn_id) = 'text'),
    author TEXT NOT NULL,
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    metadata TEXT NOT NULL CHECK (json_valid(metadata) AND json_type(metadata) = 'object'),
    created_us BIGINT NOT NULL CHECK (typeof(created_us) = 'integer'),
    updated_us BIGINT NOT NULL CHECK (typeof(updated_us) = 'integer'),
    -- What makes a row a question; a row of the kind without it is inert. lifecycle::read_question asks the same.
    is_question BOOLEAN NOT NULL GENERATED ALWAYS AS (
        kind = 'clarification_request'
        AND COALESCE(json_type(metadata, '$.pending_id') = 'text' AND json_extract(metadata, '$.pending_id') <> '', 0)
        AND COALESCE(json_type(metadata, '$.question') = 'object', 0)
        AND COALESCE(json_type(metadata, '$.question.prompt') = 'text', 0)
        AND COALESCE(COALESCE(json_type(metadata, '$.question.id'), json_type(metadata, '$.question_id')) = 'text', 0)
        AND COALESCE(json_type(metadata, '$.status') IN ('text', 'null'), 1)
    ) STORED,
    pending_id TEXT GENERATED ALWAYS AS (
        CASE WHEN is_question THEN json_extract(metadata, '$.pending_id') END
    ) STORED,
    status TEXT NOT NULL GENERATED ALWAYS AS (
        CASE WHEN is_question THEN COALESCE(NULLIF(json_extract(metadata, '$.status'), ''), 'pending') ELSE '' END
    ) STORED,
    is_open BOOLEAN NOT NULL GENERATED ALWAYS AS (
        is_question AND COALESCE(NULLIF(json_extract(metadata, '$.status'), ''), 'pending') = 'pending'
    ) STORED,
    has_intent BOOLEAN NOT NULL GENERATED ALWAYS AS (
        is_question
        AND COALESCE(CAST(json_extract(metadata, '$.response_delivery_pending') AS TEXT) IN ('true', '1'), 0)
    ) STORED,
    is_detached BOOLEAN NOT NULL GENERATED ALWAYS AS (
        is_question AND COALESCE(CAST(json_extract(metadata, '$.agent_disconnected') AS TEXT) IN ('true', '1'), 0)
    ) STORED,
    permission_id TEXT GENERATED ALWAYS AS (
        CASE WHEN kind = 'permission_request' AND json_type(metadata, '$.pending_id') = 'text'
            THEN json_extract(metadata, '$.pending_id') END
    ) STORED,
    is_permission_open BOOLEAN NOT NULL GENERATED ALWAYS AS (
        kind = 'permission_request' AND permission_id IS NOT NULL
        AND COALESCE(NULLIF(json_extract(metadata, '$.status'), ''), 'pending') = 'pending'
    ) STORED
);
CREATE INDEX messages_by_time ON task_session_messages (session_id, created_us, id);
CREATE INDEX messages_by_turn ON task_session_messages (turn_id);
CREATE INDEX messages_by_bundle ON task_session_messages (pending_id, session_id, created_us) WHERE is_question;
CREATE INDEX messages_questions ON task_session_messages (session_id, created_us, pending_id) WHERE is_question;
CREATE INDEX messages_open ON task_session_messages (session_id, turn_id) WHERE is_open;
CREATE INDEX messages_inert ON task_session_messages (id) WHERE kind = 'clarification_request' AND NOT is_question;
CREATE INDEX messages_with_intent ON task_session_messages (session_id) WHERE has_intent;
CREATE INDEX messages_permission ON task_session_messages (session_id, turn_id) WHERE is_permission_open;

CREATE TABLE clarification_waiters (
    pending_id TEXT NOT NULL,
    id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    epoch BIGINT NOT NULL CHECK (typeof(epoch) = 'integer'),
    PRIMARY KEY (pending_id, id)
) WITHOUT ROWID;
CREATE INDEX waiters_by_epoch ON clarification_waiters (epoch, session_id);
CREATE INDEX waiters_by_session ON clarification_waiters (session_id);

-- scope_kind and scope_id: 'turn' and the turn, 'bundle' and its pending id, 'session' and the empty text.
CREATE TABLE client_keys (
    session_id TEXT NOT NULL REFERENCES task_sessions (id),
    scope_kind TEXT NOT NULL CHECK (scope_kind IN ('turn', 'bundle', 'session')),
    scope_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    body_hash TEXT NOT NULL,
    result_kind TEXT NOT NULL CHECK (result_kind IN ('asked', 'responded', 'prompted')),
    result_id TEXT NOT NULL,
    result_claim TEXT NOT NULL,
    PRIMARY KEY (session_id, scope_kind, scope_id, principal, key)
) WITHOUT ROWID;
CREATE INDEX keys_by_result ON client_keys (result_id);

CREATE TABLE outbox_events (
    position INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    event_id TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL CHECK (json_valid(body) AND json_type(body) = 'object'),
    workspace_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    session_id TEXT,
    created_us BIGINT NOT NULL,
    accepted_us BIGINT,
    is_accepted BOOLEAN NOT NULL GENERATED ALWAYS AS (accepted_us IS NOT NULL) STORED
);
CREATE INDEX outbox_unaccepted ON outbox_events (position) WHERE NOT is_accepted;

CREATE TABLE access_tokens (
    id TEXT PRIMARY KEY NOT NULL CHECK (typeof(id) = 'text' AND id <> ''),
    hash BLOB NOT NULL UNIQUE CHECK (typeof(hash) = 'blob' AND length(hash) = 32),
    role TEXT NOT NULL,
    workspaces TEXT CHECK (workspaces IS NULL OR (json_valid(workspaces) AND json_type(workspaces) = 'array')),
    session_id TEXT,
    name TEXT NOT NULL,
    created_us BIGINT NOT NULL,
    expires_us BIGINT,
    revoked_us BIGINT
);

-- The one rule as SQL, for lists (architecture section 4). lifecycle::SessionView is its pure form; a test holds
-- them equal. First: undecided rows of bundles whose one turn is the current one; empty turn ids do not count, two
-- different ones leave none. created_us is the bundle's: that of its first row.
CREATE VIEW active_rows AS
SELECT
    s.id AS session_id,
    s.workspace_id AS workspace_id,
    s.task_id AS task_id,
    m.pending_id AS pending_id,
    (SELECT MIN(o.created_us) FROM task_session_messages o
        WHERE o.is_question AND o.pending_id = m.pending_id AND o.session_id = s.id) AS created_us
FROM task_sessions s
CROSS JOIN task_session_turns c
CROSS JOIN task_session_messages m
WHERE s.is_live
    AND c.id = (SELECT t.id FROM task_session_turns t WHERE t.session_id = s.id AND t.is_authoritative
        ORDER BY t.ordinal DESC LIMIT 1)
    AND m.is_open
    AND m.session_id = s.id
    AND m.turn_id IN (c.id, '')
    AND (m.turn_id <> '' OR EXISTS (
        SELECT 1 FROM task_session_messages o
        WHERE o.is_question AND o.pending_id = m.pending_id AND o.session_id = s.id AND o.turn_id = c.id))
    AND NOT EXISTS (
        SELECT 1 FROM task_session_messages o
        WHERE o.is_question AND o.pending_id = m.pending_id AND o.session_id = s.id AND o.turn_id NOT IN (c.id, ''));

-- Then: the current turn, its oldest active bundle, and what that makes the session wait for.
CREATE VIEW session_projections AS
SELECT
    s.id AS session_id,
    s.task_id AS task_id,
    s.is_input_capable AS is_input_capable,
    c.id AS current_turn_id,
    COALESCE(c.is_visible, 0) AS is_current_visible,
    (SELECT a.pending_id FROM active_rows a WHERE a.session_id = s.id
        ORDER BY a.created_us, a.pending_id LIMIT 1) AS active_pending_id,
    CASE
        WHEN NOT s.is_input_capable THEN NULL
        WHEN EXISTS (SELECT 1 FROM active_rows a WHERE a.session_id = s.id) THEN 'clarification'
        WHEN EXISTS (
            SELECT 1 FROM task_session_messages m
            WHERE m.is_permission_open AND m.session_id = s.id AND m.turn_id = c.id
        ) THEN 'permission'
    END AS pending_action,
    (SELECT g.epoch FROM backend_generations g ORDER BY g.epoch DESC LIMIT 1) AS newest_epoch
FROM task_sessions s
LEFT JOIN task_session_turns c
    ON c.id = (SELECT t.id FROM task_session_turns t WHERE t.session_id = s.id AND t.is_authoritative
        ORDER BY t.ordinal DESC LIMIT 1);

-- The place of a session among those of its task, newest first, from 1.
CREATE VIEW session_places AS
SELECT id AS session_id, task_id, ROW_NUMBER() OVER (PARTITION BY task_id ORDER BY created_us DESC, id DESC) AS place
FROM task_sessions;
