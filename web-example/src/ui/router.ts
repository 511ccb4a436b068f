/** Where the page stands, kept in the address so that a reload finds it again. */
import { useSyncExternalStore } from 'react';

export type Route =
  | { readonly kind: 'inbox' }
  | { readonly kind: 'task'; readonly taskId: string; readonly sessionId: string | null };

export function parse(hash: string): Route {
  const [tasks, taskId, sessions, sessionId] = hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
  if (tasks !== 'tasks' || !taskId) return { kind: 'inbox' };
  return { kind: 'task', taskId, sessionId: sessions === 'sessions' && sessionId ? sessionId : null };
}

export function href(taskId: string, sessionId: string | null): string {
  const task = `#/tasks/${encodeURIComponent(taskId)}`;
  return sessionId === null ? task : `${task}/sessions/${encodeURIComponent(sessionId)}`;
}

export function currentRoute(): Route {
  return parse(location.hash);
}

/** Goes there; listeners hear of it before this returns. */
export function navigate(to: string): void {
  history.pushState(null, '', to);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

function subscribe(listener: () => void): () => void {
  window.addEventListener('hashchange', listener);
  window.addEventListener('popstate', listener);
  return () => {
    window.removeEventListener('hashchange', listener);
    window.removeEventListener('popstate', listener);
  };
}

export function useRoute(): Route {
  return parse(useSyncExternalStore(subscribe, () => location.hash));
}

/** Calls back with the active task when it is another one. */
export function onActiveTask(listener: (taskId: string | null) => void): () => void {
  const active = (): string | null => {
    const route = currentRoute();
    return route.kind === 'task' ? route.taskId : null;
  };
  let held = active();
  return subscribe(() => {
    const now = active();
    if (now === held) return;
    held = now;
    listener(now);
  });
}
