//! The tables and views as Diesel sees them, for both engines. Generated columns are read, never written.
//! May import: nothing of this crate.

diesel::table! {
    store_meta (key) {
        key -> Text,
        value -> Text,
    }
}

diesel::table! {
    backend_generations (epoch) {
        epoch -> BigInt,
        started_us -> BigInt,
        heartbeat_us -> BigInt,
        ended_us -> Nullable<BigInt>,
        is_live -> Bool,
        server -> Text,
        recovered_us -> Nullable<BigInt>,
    }
}

diesel::table! {
    workspaces (id) {
        id -> Text,
        name -> Text,
        created_us -> BigInt,
    }
}

diesel::table! {
    tasks (id) {
        id -> Text,
        workspace_id -> Text,
        title -> Text,
        description -> Text,
        state -> Text,
        created_us -> BigInt,
        updated_us -> BigInt,
        last_activity_us -> BigInt,
    }
}

diesel::table! {
    task_status_summaries (task_id) {
        task_id -> Text,
        workspace_id -> Text,
        revision -> BigInt,
        summary -> Text,
        updated_us -> BigInt,
    }
}

diesel::table! {
    task_sessions (id) {
        id -> Text,
        task_id -> Text,
        workspace_id -> Text,
        state -> Text,
        is_primary -> Bool,
        executor -> Nullable<Text>,
        agent_session -> Nullable<Text>,
        is_watchdog_on -> Bool,
        generation -> BigInt,
        sequence -> BigInt,
        last_ordinal -> BigInt,
        last_started_us -> BigInt,
        created_us -> BigInt,
        updated_us -> BigInt,
        completed_us -> Nullable<BigInt>,
        is_live -> Bool,
        is_input_capable -> Bool,
    }
}

diesel::table! {
    task_session_turns (id) {
        id -> Text,
        session_id -> Text,
        ordinal -> BigInt,
        kind -> Text,
        generation -> BigInt,
        started_us -> BigInt,
        wall_us -> BigInt,
        ended_us -> Nullable<BigInt>,
        end_kind -> Nullable<Text>,
        has_evidence -> Bool,
        metadata -> Text,
        has_ended -> Bool,
        is_reserved -> Bool,
        is_attempted -> Bool,
        is_visible -> Bool,
        is_authoritative -> Bool,
        is_ambiguous -> Bool,
        has_watchdog -> Bool,
        watchdog_us -> BigInt,
    }
}

diesel::table! {
    task_session_messages (id) {
        id -> Text,
        session_id -> Text,
        turn_id -> Text,
        author -> Text,
        kind -> Text,
        content -> Text,
        metadata -> Text,
        created_us -> BigInt,
        updated_us -> BigInt,
        is_question -> Bool,
        pending_id -> Nullable<Text>,
        status -> Text,
        is_open -> Bool,
        has_intent -> Bool,
        is_detached -> Bool,
        permission_id -> Nullable<Text>,
        is_permission_open -> Bool,
    }
}

diesel::table! {
    clarification_waiters (pending_id, id) {
        pending_id -> Text,
        id -> Text,
        session_id -> Text,
        epoch -> BigInt,
    }
}

diesel::table! {
    client_keys (session_id, scope_kind, scope_id, principal, key) {
        session_id -> Text,
        scope_kind -> Text,
        scope_id -> Text,
        principal -> Text,
        key -> Text,
        body_hash -> Text,
        result_kind -> Text,
        result_id -> Text,
        result_claim -> Text,
    }
}

diesel::table! {
    outbox_events (position) {
        position -> BigInt,
        event_id -> Text,
        body -> Text,
        workspace_id -> Text,
        task_id -> Text,
        session_id -> Nullable<Text>,
        created_us -> BigInt,
        accepted_us -> Nullable<BigInt>,
        is_accepted -> Bool,
    }
}

diesel::table! {
    access_tokens (id) {
        id -> Text,
        hash -> Binary,
        role -> Text,
        workspaces -> Nullable<Text>,
        session_id -> Nullable<Text>,
        name -> Text,
        created_us -> BigInt,
        expires_us -> Nullable<BigInt>,
        revoked_us -> Nullable<BigInt>,
    }
}

// Views, by hand.

diesel::table! {
    active_rows (session_id, pending_id) {
        session_id -> Text,
        workspace_id -> Text,
        task_id -> Text,
        pending_id -> Text,
        created_us -> BigInt,
    }
}

diesel::table! {
    session_projections (session_id) {
        session_id -> Text,
        task_id -> Text,
        is_input_capable -> Bool,
        current_turn_id -> Nullable<Text>,
        is_current_visible -> Bool,
        active_pending_id -> Nullable<Text>,
        pending_action -> Nullable<Text>,
        newest_epoch -> Nullable<BigInt>,
    }
}

diesel::table! {
    session_places (session_id) {
        session_id -> Text,
        task_id -> Text,
        place -> BigInt,
    }
}

diesel::joinable!(task_status_summaries -> tasks (task_id));
diesel::joinable!(session_projections -> task_sessions (session_id));
diesel::joinable!(session_places -> task_sessions (session_id));
diesel::joinable!(task_session_turns -> task_sessions (session_id));
diesel::joinable!(task_session_messages -> task_sessions (session_id));

diesel::allow_tables_to_appear_in_same_query!(
    access_tokens,
    active_rows,
    backend_generations,
    clarification_waiters,
    client_keys,
    outbox_events,
    session_places,
    session_projections,
    store_meta,
    task_session_messages,
    task_session_turns,
    task_sessions,
    task_status_summaries,
    tasks,
    workspaces,
);
