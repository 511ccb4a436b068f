/** Every document of the page. What they select is what the store holds. */
import { graphql, type FragmentOf } from './graphql.ts';

export const ProjectionFields = graphql(`
  fragment ProjectionFields on PendingActionProjection {
    action
    revision { epoch sequence }
  }
`);

export const BundleFields = graphql(`
  fragment BundleFields on Clarification {
    pendingId
    state
    outcome
    agentDisconnected
    canRespond
    canSkip
    context
    createdAt
    dispatchOutcome
    revision { epoch sequence }
    turn { id }
    session { id taskId task { id title } }
    response { status respondedAt respondedBy rejectReason }
    questions {
      id index title prompt multiSelect allowCustomText secret status
      options { id label description }
      answer { optionIds customText isMasked }
    }
  }
`);

export const SessionFields = graphql(
  `
    fragment SessionFields on TaskSession {
      id taskId state isPrimary isInputCapable executor startedAt updatedAt
      projection { ...ProjectionFields }
      activeClarification { ...BundleFields }
    }
  `,
  [ProjectionFields, BundleFields],
);

/** A session as a task row needs it. */
export const SessionRowFields = graphql(
  `
    fragment SessionRowFields on TaskSession {
      id taskId state isPrimary isInputCapable executor startedAt updatedAt
      projection { ...ProjectionFields }
    }
  `,
  [ProjectionFields],
);

export const TaskFields = graphql(
  `
    fragment TaskFields on Task {
      id title description state lastActivityAt
      pendingAction
      statusSummaryState
      statusSummary { revision pendingAction foregroundActivity activeSubagentCount activeError { preview } }
      sessions { id state isPrimary projection { ...ProjectionFields } }
    }
  `,
  [ProjectionFields],
);

export const MessageFields = graphql(
  `
    fragment MessageFields on Message {
      id kind author content metadata createdAt updatedAt
      turn { id startedAt }
      clarification { ...BundleFields }
    }
  `,
  [BundleFields],
);

export const ViewerQuery = graphql(`query Viewer { viewer { principal role mayAnswer } }`);

export const TasksQuery = graphql(
  `query Tasks($first: Int!, $after: String) {
    tasks(first: $first, after: $after) {
      edges { node { ...TaskFields } }
      pageInfo { endCursor hasNextPage }
    }
  }`,
  [TaskFields],
);

export const TaskSessionsQuery = graphql(
  `query TaskSessions($taskId: ID!) { taskSessions(taskId: $taskId) { ...SessionRowFields } }`,
  [SessionRowFields],
);

export const InboxQuery = graphql(
  `query Inbox($first: Int!) {
    pendingClarifications(first: $first) { edges { node { ...BundleFields } } pageInfo { hasNextPage } }
  }`,
  [BundleFields],
);

export const SessionQuery = graphql(
  `query Session($id: ID!, $last: Int!, $before: String) {
    session(id: $id) {
      ...SessionFields
      task { id title }
      messages(last: $last, before: $before) {
        edges { node { ...MessageFields } }
        pageInfo { hasPreviousPage startCursor }
      }
    }
  }`,
  [SessionFields, MessageFields],
);

export const BundleQuery = graphql(
  `query Bundle($pendingId: ID!) { clarification(pendingId: $pendingId) { ...BundleFields } }`,
  [BundleFields],
);

const ResponseFields = graphql(
  `
    fragment ResponseFields on ResponseResult {
      __typename
      ... on ResponseAccepted { replayed clarification { ...BundleFields } }
      ... on ResponseConflict { reason clarification { ...BundleFields } }
      ... on DeliveryFailed { retryable code clarification { ...BundleFields } }
      ... on InvalidResponse { errors { path code limit message } }
      ... on NotFound { message }
      ... on Refused { refusal message retryable }
    }
  `,
  [BundleFields],
);

export const RespondMutation = graphql(
  `mutation Respond($input: RespondInput!) { respond(input: $input) { ...ResponseFields } }`,
  [ResponseFields],
);

export const SkipMutation = graphql(
  `mutation Skip($input: SkipInput!) { skip(input: $input) { ...ResponseFields } }`,
  [ResponseFields],
);

export const PromptMutation = graphql(`
  mutation SendPrompt($input: SendPromptInput!) {
    sendPrompt(input: $input) {
      __typename
      ... on PromptAccepted { turnId }
      ... on PromptFailed { retryable code }
      ... on InvalidInput { errors { path code limit message } }
      ... on NotFound { message }
      ... on Refused { refusal message retryable }
    }
  }
`);

export const DecideMutation = graphql(`
  mutation Decide($sessionId: ID!, $permissionId: ID!, $decision: PermissionDecision!) {
    resolvePermissionRequest(sessionId: $sessionId, permissionId: $permissionId, decision: $decision) { __typename }
  }
`);

export const TaskChanges = graphql(
  `subscription TaskChanges {
    taskChanges {
      __typename
      ... on TaskSnapshot { tasks { ...TaskFields } }
      ... on TaskChanged { task { ...TaskFields } }
      ... on TaskDeleted { taskId }
    }
  }`,
  [TaskFields],
);

export const SessionChanges = graphql(
  `subscription SessionChanges($sessionId: ID!) {
    sessionChanges(sessionId: $sessionId) {
      __typename
      ... on SessionSnapshot { session { ...SessionFields } }
      ... on SessionStateChanged { session { ...SessionFields } }
      ... on ProjectionChanged { session { ...SessionFields } }
      ... on MessageAdded { message { ...MessageFields } projection { ...ProjectionFields } }
      ... on MessageUpdated { message { ...MessageFields } projection { ...ProjectionFields } }
      ... on MessageDeleted { messageId now: projection { ...ProjectionFields } }
      ... on TurnStarted { now: projection { ...ProjectionFields } }
      ... on TurnCompleted { now: projection { ...ProjectionFields } }
      ... on SessionDeleted { sessionId }
    }
  }`,
  [SessionFields, MessageFields, ProjectionFields],
);

export type Bundle = FragmentOf<typeof BundleFields>;
export type Question = Bundle['questions'][number];
export type Projection = FragmentOf<typeof ProjectionFields>;
export type SessionItem = FragmentOf<typeof SessionFields>;
export type SessionRow = FragmentOf<typeof SessionRowFields>;
export type TaskItem = FragmentOf<typeof TaskFields>;
export type MessageItem = FragmentOf<typeof MessageFields>;
export type ResponseItem = FragmentOf<typeof ResponseFields>;
