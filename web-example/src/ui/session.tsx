/** One conversation: its head, what was said, and the dock below. */
import { useCallback, useEffect, useRef, useState, type ReactNode } from 'react';
import { followSession, loadSession } from '../api/sync';
import { sessionAction, staleBundles, transcript } from '../state/views';
import { useApp, useStore } from './context';
import { Dock } from './dock';
import { Notice } from './notice';
import { href } from './router';
import { t } from './strings';
import { Transcript } from './transcript';

type Load = 'loading' | 'failed' | 'missing' | 'ready';

interface Loading {
  readonly load: Load;
  readonly before: string | null;
  readonly title: string | null;
  readonly reload: () => void;
  readonly older: () => void;
}

function useSession(taskId: string, sessionId: string): Loading {
  const app = useApp();
  const [load, setLoad] = useState<Load>('loading');
  const [before, setBefore] = useState<string | null>(null);
  const [title, setTitle] = useState<string | null>(null);
  const isLeft = useRef(false);
  const reload = useCallback(() => {
    loadSession(app.api, app.store, sessionId, null).then(
      (loaded) => {
        if (isLeft.current) return;
        setLoad(loaded ? 'ready' : 'missing');
        setTitle(loaded?.taskTitle ?? null);
        setBefore((held) => held ?? (loaded?.hasOlder ? loaded.before : null));
      },
      () => !isLeft.current && setLoad((held) => (held === 'ready' ? held : 'failed')),
    );
  }, [app, sessionId]);
  const older = (): void => {
    if (before === null) return;
    loadSession(app.api, app.store, sessionId, before).then(
      (loaded) => setBefore(loaded?.hasOlder ? loaded.before : null),
      // The button stays, to be pressed again.
      () => undefined,
    );
  };
  useEffect(() => {
    isLeft.current = false;
    app.lastOpen.set(taskId, sessionId);
    const stop = followSession(app.api, app.store, sessionId, reload);
    reload();
    const release = (): void => {
      isLeft.current = true;
      stop();
    };
    app.outgoing.release = release;
    return () => {
      release();
      if (app.outgoing.release === release) app.outgoing.release = null;
    };
  }, [app, taskId, sessionId, reload]);
  return { load, before, title, reload, older };
}

export function SessionPage({ taskId, sessionId }: { readonly taskId: string; readonly sessionId: string }): ReactNode {
  const state = useStore();
  const { load, before, title, reload, older } = useSession(taskId, sessionId);
  const [shownId, setShownId] = useState<string | null>(null);
  const [elsewhere, setElsewhere] = useState<ReadonlySet<string>>(new Set());
  const addElsewhere = useCallback((id: string) => setElsewhere((held) => new Set(held).add(id)), []);
  const entry = state.sessions.get(sessionId);
  if (load === 'missing' || state.gone.has(sessionId)) return <Notice text={t.sessionGone} />;
  if (load === 'failed' && !entry) return <Notice text={t.transcriptFailed} onRetry={reload} />;
  const action = entry && sessionAction(entry);
  const task = state.tasks.get(taskId);
  return (
    <div className="session" data-session={sessionId}>
      <header className="session-head">
        <div className="column">
          <h1>{task?.item.title ?? title ?? t.transcript}</h1>
          {entry && <span className={action ? 'chip warn' : 'chip'}>{action ? t.action[action] : (t.sessionState[entry.row.state] ?? entry.row.state)}</span>}
          {(task?.item.sessions.length ?? 0) > 1 && <a className="link" href={href(taskId, null)}>{t.sessions}</a>}
        </div>
      </header>
      {load === 'loading' ? <p className="column pad muted grow" role="status">{t.transcriptLoading}</p> : (
        <Transcript sessionId={sessionId} entries={transcript(state, sessionId, shownId)} elsewhere={elsewhere} stale={staleBundles(state, sessionId)} hasOlder={before !== null} onOlder={older} />
      )}
      {load !== 'loading' && <Dock sessionId={sessionId} onShown={setShownId} onElsewhere={addElsewhere} />}
    </div>
  );
}
