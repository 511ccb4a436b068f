/** The task rows, in the sidebar and in the phone's sheet alike. */
import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { createSelection, type Host, type Selection } from '../state/selection';
import type { TaskEntry } from '../state/store';
import { detailOf, needyCount, snapshotOf, statusOf, taskList, type RowStatus } from '../state/views';
import { useApp, useStore, type App } from './context';
import { Icon, type IconName } from './icons';
import { href, navigate, onActiveTask, useRoute } from './router';
import { t } from './strings';

export type ListState = 'loading' | 'failed' | 'ready';

const ICONS: Record<RowStatus, IconName> = {
  permission: 'shield', clarification: 'question', generating: 'working', background: 'background', starting: 'starting', failed: 'failed', done: 'done', clean: 'clean',
};

/** What an activation may do here; `close` closes the sheet around the list. */
function hostOf(app: App, close: () => void): Host {
  const { store } = app;
  return {
    lookup: (taskId) => {
      const task = store.get().tasks.get(taskId);
      return task && snapshotOf(task);
    },
    preferred(taskId) {
      const state = store.get();
      const last = app.lastOpen.get(taskId);
      if (last !== undefined && state.sessions.get(last)?.row.taskId === taskId) return last;
      return state.tasks.get(taskId)?.item.sessions.find((session) => session.isPrimary)?.id ?? null;
    },
    load: (taskId, signal) => app.loads.load(taskId, signal),
    release() {
      app.outgoing.release?.();
      app.outgoing.release = null;
    },
    navigate: (taskId, sessionId) => navigate(href(taskId, sessionId)),
    close,
    onActiveTask,
  };
}

/** Activations that end with the list: nothing of them outlives it. */
export function useSelection(onChosen: () => void): { selection: Selection; busy: string | null; choose: (taskId: string) => void } {
  const app = useApp();
  const chosen = useRef(onChosen);
  chosen.current = onChosen;
  const [busy, setBusy] = useState<string | null>(null);
  const selection = useMemo(() => createSelection(hostOf(app, () => chosen.current())), [app]);
  useEffect(() => () => selection.invalidate(), [selection]);
  const choose = (taskId: string): void => {
    setBusy(taskId);
    void selection.activate(taskId).then(() => setBusy((held) => (held === taskId ? null : held)));
  };
  return { selection, busy, choose };
}

export function TaskList({ list, onChosen }: { readonly list: ListState; readonly onChosen: () => void }): ReactNode {
  const state = useStore();
  const route = useRoute();
  const { busy, choose } = useSelection(onChosen);
  const tasks = taskList(state);
  const needy = needyCount(state);
  const activeId = route.kind === 'task' ? route.taskId : null;
  return (
    <nav className="tasks" aria-label={t.tasks}>
      <a className="inbox-link" href="#/" aria-current={route.kind === 'inbox' ? 'page' : undefined} onClick={onChosen}>
        <Icon name="inbox" />{t.inbox}
      </a>
      <h2>{t.tasks} {needy > 0 && <span className="badge">{t.needy(needy)}</span>}</h2>
      {tasks.length === 0 && <p className="muted pad" role="status">{list === 'loading' ? t.loadingTasks : list === 'failed' ? t.tasksFailed : t.noTasks}</p>}
      <ul>
        {tasks.map((task) => (
          <TaskRow key={task.item.id} task={task} isActive={task.item.id === activeId} isBusy={busy === task.item.id} onChoose={choose} />
        ))}
      </ul>
    </nav>
  );
}

interface RowProps {
  readonly task: TaskEntry;
  readonly isActive: boolean;
  readonly isBusy: boolean;
  readonly onChoose: (taskId: string) => void;
}

function TaskRow({ task, isActive, isBusy, onChoose }: RowProps): ReactNode {
  const status = statusOf(task);
  const { error, helpers } = detailOf(task);
  const said = [t.rowStatus[status], helpers > 0 ? t.helpers(helpers) : error].filter(Boolean);
  return (
    <li>
      <button type="button" className={`row ${status}`} data-task={task.item.id} aria-current={isActive ? 'true' : undefined} aria-busy={isBusy} onClick={() => onChoose(task.item.id)}>
        <Icon name={ICONS[status]} className={status} />
        <span className="row-title">{task.item.title}</span>
        <span className="row-status">{said.join(' · ')}</span>
      </button>
    </li>
  );
}
