/** The page: who is asked, the lists, and what is open. */
import { useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { createApi, Fault, storedToken, storeToken, type Api } from '../api/client';
import { ViewerQuery } from '../api/documents';
import { fetchSessions, followTasks } from '../api/sync';
import { createLoads } from '../state/selection';
import { createStore } from '../state/store';
import { needyCount } from '../state/views';
import { ConnectionBanner } from './connection';
import { AppContext, useApp, useStore, useWide, type App } from './context';
import { Inbox } from './inbox';
import { useRoute } from './router';
import { SessionPage } from './session';
import { SignIn } from './sign-in';
import { t } from './strings';
import { TaskOnly } from './task-only';
import { TaskList, type ListState } from './task-list';
import { TaskSheet } from './task-sheet';

type Who = { readonly kind: 'asking' | 'failed' } | { readonly kind: 'sign-in'; readonly isWrong: boolean } | { readonly kind: 'known'; readonly principal: string; readonly mayAnswer: boolean };

export function Root(): ReactNode {
  const [api] = useState(createApi);
  const [who, setWho] = useState<Who>({ kind: 'asking' });
  const ask = useCallback(() => {
    setWho({ kind: 'asking' });
    api.query(ViewerQuery, {}).then(
      ({ viewer }) => setWho({ kind: 'known', principal: viewer.principal, mayAnswer: viewer.mayAnswer }),
      (error: unknown) => {
        const isStranger = error instanceof Fault && error.isUnauthenticated;
        setWho(isStranger ? { kind: 'sign-in', isWrong: storedToken() !== null } : { kind: 'failed' });
      },
    );
  }, [api]);
  useEffect(ask, [ask]);
  // A server that is not up yet is asked again by itself.
  useEffect(() => {
    if (who.kind !== 'failed') return undefined;
    const timer = setTimeout(ask, 2_000);
    return () => clearTimeout(timer);
  }, [who, ask]);
  if (who.kind === 'sign-in') {
    return <SignIn isWrong={who.isWrong} onToken={(token) => { storeToken(token); ask(); }} />;
  }
  if (who.kind !== 'known') return <Splash text={who.kind === 'asking' ? t.connecting : t.unreachable} />;
  return <Main api={api} principal={who.principal} mayAnswer={who.mayAnswer} />;
}

/** Before anything is known. */
function Splash({ text }: { readonly text: string }): ReactNode {
  return (
    <main className="splash">
      <h1 className="brand"><img src="/icon.svg" alt="" width="24" height="24" />{t.product}</h1>
      <p role="status">{text}</p>
    </main>
  );
}

function Main({ api, principal, mayAnswer }: { readonly api: Api; readonly principal: string; readonly mayAnswer: boolean }): ReactNode {
  const [said, setSaid] = useState('');
  const app = useMemo<App>(() => {
    const store = createStore();
    const loads = createLoads(
      (taskId, signal) => fetchSessions(api, taskId, signal),
      (_taskId, rows) => store.apply({ kind: 'sessionRows', rows }),
    );
    return { api, store, loads, principal, mayAnswer, lastOpen: new Map(), outgoing: { release: null }, announce: setSaid };
  }, [api, principal, mayAnswer]);
  return (
    <AppContext value={app}>
      <Shell />
      <div className="sr-only" role="status" aria-live="polite">{said}</div>
    </AppContext>
  );
}

function useLists(): ListState {
  const { api, store } = useApp();
  const [list, setList] = useState<ListState>('loading');
  useEffect(() => {
    const ready = store.subscribe(() => setList('ready'));
    const stop = followTasks(api, store, () => setList((held) => (held === 'ready' ? held : 'failed')), () => setList('ready'));
    return () => {
      ready();
      stop();
    };
  }, [api, store]);
  return list;
}

function Shell(): ReactNode {
  const state = useStore();
  const route = useRoute();
  const isWide = useWide();
  const list = useLists();
  const main = useRef<HTMLElement>(null);
  const task = route.kind === 'task' ? state.tasks.get(route.taskId) : undefined;
  const needy = needyCount(state);
  useEffect(() => {
    document.title = t.documentTitle(needy, task?.item.title ?? null);
  }, [needy, task?.item.title]);
  return (
    <div className={isWide ? 'shell wide' : 'shell'}>
      <button type="button" className="skip-link" onClick={() => main.current?.focus()}>{t.skipLink}</button>
      {isWide ? (
        <aside className="sidebar">
          <a className="brand" href="#/"><img src="/icon.svg" alt="" width="24" height="24" />{t.product}</a>
          <TaskList list={list} onChosen={() => {}} />
        </aside>
      ) : (
        <header className="topbar">
          <TaskSheet list={list} needy={needy} />
          <a className="brand" href="#/"><img src="/icon.svg" alt="" width="24" height="24" />{t.product}</a>
        </header>
      )}
      <main ref={main} tabIndex={-1}>
        <ConnectionBanner />
        {route.kind === 'inbox' ? <Inbox list={list} /> : route.sessionId === null ? (
          <TaskOnly key={route.taskId} taskId={route.taskId} />
        ) : (
          <SessionPage key={route.sessionId} taskId={route.taskId} sessionId={route.sessionId} />
        )}
      </main>
    </div>
  );
}
