/** A task without a chosen session: what it is about, and its conversations. Nothing is guessed. */
import { useEffect, useState, type ReactNode } from 'react';
import { isAbort } from '../state/selection';
import type { SessionEntry } from '../state/store';
import { sessionAction, sessionsOf } from '../state/views';
import { useApp, useStore } from './context';
import { Notice } from './notice';
import { href } from './router';
import { moment, t } from './strings';

type Load = 'loading' | 'failed' | 'ready';

export function TaskOnly({ taskId }: { readonly taskId: string }): ReactNode {
  const { loads } = useApp();
  const state = useStore();
  const [load, setLoad] = useState<Load>('loading');
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    setLoad('loading');
    loads.load(taskId, abort.signal).then(
      () => setLoad('ready'),
      (error: unknown) => isAbort(error) || setLoad('failed'),
    );
    return () => abort.abort();
  }, [loads, taskId, attempt]);
  const task = state.tasks.get(taskId);
  const sessions = sessionsOf(state, taskId);
  if (state.gone.has(taskId) || (!task && load === 'ready' && sessions.length === 0)) return <Notice text={t.taskGone} />;
  return (
    <div className="column">
      <header className="page-head">
        <h1>{task?.item.title ?? t.taskOnly}</h1>
        {task?.item.description && <p className="muted">{task.item.description}</p>}
      </header>
      <h2 className="section">{t.taskOnly}</h2>
      <ul className="inbox">{sessions.map((entry) => <SessionLink key={entry.row.id} entry={entry} />)}</ul>
      {load === 'failed' && <Failed onRetry={() => setAttempt(attempt + 1)} />}
      {load === 'loading' && sessions.length === 0 && <p className="muted" role="status">{t.transcriptLoading}</p>}
      {load === 'ready' && sessions.length === 0 && <p className="muted">{t.noSessions}</p>}
    </div>
  );
}

function Failed({ onRetry }: { readonly onRetry: () => void }): ReactNode {
  return (
    <div role="alert" className="alert outcome-actions">
      <p className="grow">{t.sessionsFailed}</p>
      <button type="button" className="secondary" onClick={onRetry}>{t.retry}</button>
    </div>
  );
}

function SessionLink({ entry }: { readonly entry: SessionEntry }): ReactNode {
  const action = sessionAction(entry);
  return (
    <li>
      <a className="card entry" href={href(entry.row.taskId, entry.row.id)} data-session={entry.row.id}>
        <span className="entry-meta"><strong>{t.sessionOf(moment(entry.row.startedAt))}</strong>{entry.row.isPrimary && <span>{t.primary}</span>}</span>
        <span className={action ? 'chip warn' : 'chip'}>{action ? t.action[action] : (t.sessionState[entry.row.state] ?? entry.row.state)}</span>
      </a>
    </li>
  );
}
