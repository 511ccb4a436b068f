-- The initial schema: the tables, columns and names of ../../sqlite. Metadata is the record; what queries need of it
-- are generated stored columns, all made with one tolerant decoder of flags: true, "true", "1" and 1 are true.
-- Text that is compared or ordered has the collation C, which is SQLite's order of bytes.

-- What SQLite brings to read JSON, under its names, so that what checks a database is written once. A NUL is legal in
-- JSON and not in PostgreSQL's reading of it; nothing here depends on one.
CREATE FUNCTION json_document(document TEXT) RETURNS JSONB LANGUAGE SQL IMMUTABLE PARALLEL SAFE
RETURN replace(document, '\u0000', '\ufffd')::jsonb;

CREATE FUNCTION json_kind(value JSONB) RETURNS TEXT LANGUAGE SQL IMMUTABLE PARALLEL SAFE
RETURN CASE jsonb_typeof(value)
    WHEN 'string' THEN 'text'
    WHEN 'boolean' THEN value::text
    WHEN 'number' THEN CASE WHEN value::text ~ '[.eE]' THEN 'real' ELSE 'integer' END
    ELSE jsonb_typeof(value)
END;

CREATE FUNCTION json_type(document TEXT, path TEXT) RETURNS TEXT LANGUAGE SQL IMMUTABLE PARALLEL SAFE
RETURN json_kind(json_document(document) #> string_to_array(substr(path, 3), '.'));

CREATE FUNCTION json_extract(document TEXT, path TEXT) RETURNS TEXT LANGUAGE SQL IMMUTABLE PARALLEL SAFE
RETURN json_document(document) #>> string_to_array(substr(path, 3), '.');

-- The elements of an array.
CREATE FUNCTION json_each(document TEXT, path TEXT) RETURNS TABLE (value TEXT, type TEXT)
LANGUAGE SQL IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT e.value #>> '{}', json_kind(e.value) FROM jsonb_array_elements(
        CASE json_type(document, path) WHEN 'array'
            THEN json_document(document) #> string_to_array(substr(path, 3), '.') ELSE '[]' END) AS e(value);
END;

-- Every field, however deep.
CREATE FUNCTION json_tree(document TEXT) RETURNS TABLE (key TEXT, fullkey TEXT)
LANGUAGE SQL IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH RECURSIVE tree(key, fullkey, value) AS (
        SELECT NULL::text, '$', json_document(document)
        UNION ALL
        SELECT c.key, tree.fullkey || '.' || c.key, c.value
        FROM tree CROSS JOIN LATERAL (
            SELECT o.key, o.value FROM jsonb_each(
                CASE jsonb_typeof(tree.value) WHEN 'object' THEN tree.value ELSE '{}' END) AS o(key, value)
            UNION ALL
            SELECT (a.place - 1)::text, a.value FROM jsonb_array_elements(
                CASE jsonb_typeof(tree.value) WHEN 'array' THEN tree.value ELSE '[]' END)
                WITH ORDINALITY AS a(value, place)
        ) AS c
    )
    SELECT tree.key, tree.fullkey FROM tree;
END;

-- The tolerant decoder.
CREATE FUNCTION json_flag(document TEXT, path TEXT) RETURNS BOOLEAN LANGUAGE SQL IMMUTABLE PARALLEL SAFE
RETURN COALESCE(json_extract(document, path) IN ('true', '1'), FALSE);

CREATE FUNCTION is_json_object(document TEXT) RETURNS BOOLEAN LANGUAGE SQL IMMUTABLE PARALLEL SAFE
RETURN jsonb_typeof(json_document(document)) = 'object';

-- What makes a row a question; a row of the kind without it is inert. lifecycle::read_question asks the same.
CREATE FUNCTION is_question(kind TEXT, document TEXT) RETURNS BOOLEAN LANGUAGE SQL IMMUTABLE PARALLEL SAFE
RETURN kind = 'clarification_request'
    AND COALESCE(json_type(document, '$.pending_id') = 'text' AND json_extract(document, '$.pending_id') <> '', FALSE)
    AND COALESCE(json_type(document, '$.question') = 'object', FALSE)
    AND COALESCE(json_type(document, '$.question.prompt') = 'text', FALSE)
    AND COALESCE(COALESCE(json_type(document, '$.question.id'), json_type(document, '$.question_id')) = 'text', FALSE)
    AND COALESCE(json_type(document, '$.status') IN ('text', 'null'), TRUE);

CREATE FUNCTION status_or_pending(document TEXT) RETURNS TEXT LANGUAGE SQL IMMUTABLE PARALLEL SAFE
RETURN COALESCE(NULLIF(json_extract(document, '$.status'), ''), 'pending');

CREATE TABLE store_meta (
    key TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
);
INSERT INTO store_meta (key, value) VALUES ('store_id', replace(gen_random_uuid()::text, '-', ''));

CREATE TABLE backend_generations (
    epoch BIGINT PRIMARY KEY NOT NULL,
    started_us BIGINT NOT NULL,
    heartbeat_us BIGINT NOT NULL,
    ended_us BIGINT,
    is_live BOOLEAN NOT NULL GENERATED ALWAYS AS (ended_us IS NULL) STORED
);
CREATE INDEX generations_live ON backend_generations (epoch) WHERE is_live;

CREATE TABLE workspaces (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL CHECK (id <> ''),
    name TEXT NOT NULL,
    created_us BIGINT NOT NULL
);

CREATE TABLE tasks (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL CHECK (id <> ''),
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    state TEXT NOT NULL,
    created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL,
    last_activity_us BIGINT NOT NULL
);
CREATE INDEX tasks_by_activity ON tasks (last_activity_us, id);
CREATE INDEX tasks_by_workspace ON tasks (workspace_id, last_activity_us, id);

CREATE TABLE task_status_summaries (
    task_id TEXT COLLATE "C" PRIMARY KEY NOT NULL REFERENCES tasks (id),
    workspace_id TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL,
    summary TEXT NOT NULL CHECK (is_json_object(summary)),
    updated_us BIGINT NOT NULL
);

CREATE TABLE task_sessions (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL CHECK (id <> ''),
    task_id TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    workspace_id TEXT COLLATE "C" NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('CREATED', 'STARTING', 'RUNNING', 'IDLE', 'WAITING_FOR_INPUT', 'COMPLETED', 'FAILED', 'CANCELLED')),
    is_primary BOOLEAN NOT NULL,
    executor TEXT COLLATE "C",
    agent_session TEXT,
    is_watchdog_on BOOLEAN NOT NULL,
    generation BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    last_ordinal BIGINT NOT NULL,
    last_started_us BIGINT NOT NULL,
    created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL,
    completed_us BIGINT,
    is_live BOOLEAN NOT NULL GENERATED ALWAYS AS (state NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')) STORED,
    is_input_capable BOOLEAN NOT NULL GENERATED ALWAYS AS (state IN ('RUNNING', 'WAITING_FOR_INPUT')) STORED
);
CREATE INDEX sessions_by_task ON task_sessions (task_id, created_us, id);
CREATE INDEX sessions_live ON task_sessions (workspace_id) WHERE is_live;
CREATE INDEX sessions_input_capable ON task_sessions (task_id) WHERE is_input_capable;

CREATE TABLE task_session_turns (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL CHECK (id <> ''),
    session_id TEXT COLLATE "C" NOT NULL REFERENCES task_sessions (id),
    ordinal BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('work', 'bookkeeping')),
    generation BIGINT NOT NULL,
    started_us BIGINT NOT NULL,
    wall_us BIGINT NOT NULL,
    ended_us BIGINT,
    end_kind TEXT CHECK (end_kind IN ('completed', 'superseded', 'cancelled', 'session_ended')),
    has_evidence BOOLEAN NOT NULL,
    metadata TEXT NOT NULL CHECK (is_json_object(metadata)),
    has_ended BOOLEAN NOT NULL GENERATED ALWAYS AS (ended_us IS NOT NULL) STORED,
    is_reserved BOOLEAN NOT NULL GENERATED ALWAYS AS (json_flag(metadata, '$.prompt_dispatch_pending')) STORED,
    is_attempted BOOLEAN NOT NULL GENERATED ALWAYS AS (
        json_flag(metadata, '$.prompt_dispatch_pending') AND json_flag(metadata, '$.prompt_dispatch_attempted')
    ) STORED,
    is_visible BOOLEAN NOT NULL GENERATED ALWAYS AS (
        has_evidence OR NOT json_flag(metadata, '$.prompt_dispatch_pending')
    ) STORED,
    is_authoritative BOOLEAN NOT NULL GENERATED ALWAYS AS (
        kind = 'work' AND (has_evidence OR NOT json_flag(metadata, '$.prompt_dispatch_pending')
            OR json_flag(metadata, '$.prompt_dispatch_attempted'))
    ) STORED,
    is_ambiguous BOOLEAN NOT NULL GENERATED ALWAYS AS (
        COALESCE(json_extract(metadata, '$.dispatch_outcome') = 'UNKNOWN', FALSE)
    ) STORED,
    has_watchdog BOOLEAN NOT NULL GENERATED ALWAYS AS (
        COALESCE(json_type(metadata, '$.watchdog_deadline_us') = 'integer', FALSE)
        AND COALESCE(json_type(metadata, '$.watchdog_pending_id') = 'text', FALSE)
    ) STORED,
    watchdog_us BIGINT NOT NULL GENERATED ALWAYS AS (
        CASE WHEN json_type(metadata, '$.watchdog_deadline_us') = 'integer'
                AND length(json_extract(metadata, '$.watchdog_deadline_us')) < 19
            THEN json_extract(metadata, '$.watchdog_deadline_us')::bigint ELSE 0 END
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
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL CHECK (id <> ''),
    session_id TEXT COLLATE "C" NOT NULL REFERENCES task_sessions (id),
    turn_id TEXT COLLATE "C" NOT NULL,
    author TEXT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    content TEXT NOT NULL,
    metadata TEXT NOT NULL CHECK (is_json_object(metadata)),
    created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL,
    is_question BOOLEAN NOT NULL GENERATED ALWAYS AS (is_question(kind, metadata)) STORED,
    pending_id TEXT COLLATE "C" GENERATED ALWAYS AS (
        CASE WHEN is_question(kind, metadata) THEN json_extract(metadata, '$.pending_id') END
    ) STORED,
    status TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (
        CASE WHEN is_question(kind, metadata) THEN status_or_pending(metadata) ELSE '' END
    ) STORED,
    is_open BOOLEAN NOT NULL GENERATED ALWAYS AS (
        is_question(kind, metadata) AND status_or_pending(metadata) = 'pending'
    ) STORED,
    has_intent BOOLEAN NOT NULL GENERATED ALWAYS AS (
        is_question(kind, metadata) AND json_flag(metadata, '$.response_delivery_pending')
    ) STORED,
    is_detached BOOLEAN NOT NULL GENERATED ALWAYS AS (
        is_question(kind, metadata) AND json_flag(metadata, '$.agent_disconnected')
    ) STORED,
    permission_id TEXT COLLATE "C" GENERATED ALWAYS AS (
        CASE WHEN kind = 'permission_request' AND json_type(metadata, '$.pending_id') = 'text'
            THEN json_extract(metadata, '$.pending_id') END
    ) STORED,
    is_permission_open BOOLEAN NOT NULL GENERATED ALWAYS AS (
        kind = 'permission_request' AND COALESCE(json_type(metadata, '$.pending_id') = 'text', FALSE)
        AND status_or_pending(metadata) = 'pending'
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
    pending_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    epoch BIGINT NOT NULL,
    PRIMARY KEY (pending_id, id)
);
CREATE INDEX waiters_by_epoch ON clarification_waiters (epoch, session_id);
CREATE INDEX waiters_by_session ON clarification_waiters (session_id);

-- scope_kind and scope_id: 'turn' and the turn, 'bundle' and its pending id, 'session' and the empty text.
CREATE TABLE client_keys (
    session_id TEXT COLLATE "C" NOT NULL REFERENCES task_sessions (id),
    scope_kind TEXT COLLATE "C" NOT NULL CHECK (scope_kind IN ('turn', 'bundle', 'session')),
    scope_id TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    body_hash TEXT NOT NULL,
    result_kind TEXT NOT NULL CHECK (result_kind IN ('asked', 'responded', 'prompted')),
    result_id TEXT COLLATE "C" NOT NULL,
    result_claim TEXT NOT NULL,
    PRIMARY KEY (session_id, scope_kind, scope_id, principal, key)
);
CREATE INDEX keys_by_result ON client_keys (result_id);

-- Who appends holds the lock of the log until its commit, so positions are in the order of commits.
CREATE TABLE outbox_events (
    position BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY NOT NULL,
    event_id TEXT COLLATE "C" NOT NULL UNIQUE,
    body TEXT NOT NULL CHECK (is_json_object(body)),
    workspace_id TEXT COLLATE "C" NOT NULL,
    task_id TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C",
    created_us BIGINT NOT NULL,
    accepted_us BIGINT,
    is_accepted BOOLEAN NOT NULL GENERATED ALWAYS AS (accepted_us IS NOT NULL) STORED
);
CREATE INDEX outbox_unaccepted ON outbox_events (position) WHERE NOT is_accepted;

CREATE TABLE access_tokens (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL CHECK (id <> ''),
    hash BYTEA NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    role TEXT NOT NULL,
    workspaces TEXT CHECK (workspaces IS NULL OR jsonb_typeof(json_document(workspaces)) = 'array'),
    session_id TEXT COLLATE "C",
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
JOIN task_session_messages m ON m.is_open AND m.session_id = s.id
CROSS JOIN LATERAL (SELECT t.id FROM task_session_turns t WHERE t.session_id = s.id AND t.is_authoritative
    ORDER BY t.ordinal DESC LIMIT 1) c
WHERE s.is_live
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
    COALESCE(c.is_visible, FALSE) AS is_current_visible,
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
LEFT JOIN LATERAL (SELECT t.id, t.is_visible FROM task_session_turns t
    WHERE t.session_id = s.id AND t.is_authoritative ORDER BY t.ordinal DESC LIMIT 1) c ON TRUE;

-- The place of a session among those of its task, newest first, from 1.
CREATE VIEW session_places AS
SELECT id AS session_id, task_id, ROW_NUMBER() OVER (PARTITION BY task_id ORDER BY created_us DESC, id DESC) AS place
FROM task_sessions;
