/** Items as the server sends them, for tests. */
import type { Bundle, MessageItem, SessionItem, SessionRow, TaskItem } from '../src/api/documents';

export const revision = (epoch: number | string, sequence: number | string) => ({ epoch: String(epoch), sequence: String(sequence) });

export function question(id: string, changes: Partial<Bundle['questions'][number]> = {}): Bundle['questions'][number] {
  return {
    id, index: Number(id.slice(1)) - 1, title: id, prompt: `prompt of ${id}`, multiSelect: false, allowCustomText: true, secret: false, status: 'PENDING',
    options: ['a', 'b', 'c'].map((option) => ({ id: option, label: option.toUpperCase(), description: '' })), answer: null, ...changes,
  };
}

export function bundle(pendingId: string, sequence: number, changes: Partial<Bundle> = {}): Bundle {
  return {
    pendingId, state: 'ACTIVE_LIVE', outcome: 'PENDING', agentDisconnected: false, canRespond: true, canSkip: true, context: '',
    createdAt: '2026-12-01T09:00:00.000000Z', dispatchOutcome: null, revision: revision(1, sequence), turn: { id: 't1' },
    session: { id: 's1', taskId: 'k1', task: { id: 'k1', title: 'Task' } }, response: null, questions: [question('q1')], ...changes,
  };
}

export function row(id: string, changes: Partial<SessionRow> = {}): SessionRow {
  return {
    id, taskId: 'k1', state: 'RUNNING', isPrimary: false, isInputCapable: true, executor: null, startedAt: '2026-12-01T09:00:00.000000Z',
    updatedAt: '2026-12-01T09:00:00.000000Z', projection: { action: null, revision: revision(1, 1) }, ...changes,
  };
}

export function session(sequence: number, active: Bundle | null, changes: Partial<SessionItem> = {}): SessionItem {
  const action = active ? ('CLARIFICATION' as const) : null;
  return { ...row('s1'), projection: { action, revision: revision(1, sequence) }, activeClarification: active, ...changes };
}

export function message(id: string, updated: number, changes: Partial<MessageItem> = {}): MessageItem {
  const at = `2026-12-01T09:00:00.${String(updated).padStart(6, '0')}Z`;
  return { id, kind: 'message', author: 'agent', content: `${id} at ${updated}`, createdAt: '2026-12-01T09:00:00.000000Z', updatedAt: at, turn: { id: 't1', startedAt: at }, clarification: null, metadata: {}, ...changes };
}

export function summary(at: number | string, action: TaskItem['pendingAction'], changes: Partial<NonNullable<TaskItem['statusSummary']>> = {}): NonNullable<TaskItem['statusSummary']> {
  return { revision: String(at), pendingAction: action, foregroundActivity: null, activeSubagentCount: null, activeError: null, ...changes };
}

/** A task with its summary, read at one moment. */
export function task(id: string, at: number | string, action: TaskItem['pendingAction'], changes: Partial<TaskItem> = {}): TaskItem {
  return {
    id, title: id, description: '', state: 'TODO', lastActivityAt: `2026-12-01T09:00:00.${String(at).padStart(6, '0')}Z`, pendingAction: action,
    statusSummaryState: 'PRESENT', statusSummary: summary(at, action), sessions: [], ...changes,
  };
}

/** An answer that does not hold the task's summary; `coarse` is the action as its sessions have it. */
export function without(id: string, state: 'OMITTED' | 'INVALIDATED', coarse: TaskItem['pendingAction'] = null): TaskItem {
  return task(id, 1, coarse, { statusSummaryState: state, statusSummary: null });
}
