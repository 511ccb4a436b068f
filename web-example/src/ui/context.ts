/** What every part of the page shares: the store, the transports, and how things are said aloud. */
import { createContext, useContext, useSyncExternalStore } from 'react';
import type { Api, Connection } from '../api/client';
import type { SessionRow } from '../api/documents';
import type { Loads } from '../state/selection';
import type { State, Store } from '../state/store';

export interface App {
  readonly api: Api;
  readonly store: Store;
  readonly loads: Loads<readonly SessionRow[]>;
  /** Who answers, as the server names the caller. */
  readonly principal: string;
  readonly mayAnswer: boolean;
  /** The session that each task had open last. */
  readonly lastOpen: Map<string, string>;
  /** What the outgoing session hands back before it is left. */
  readonly outgoing: { release: (() => void) | null };
  announce(text: string): void;
}

export const AppContext = createContext<App | null>(null);

export function useApp(): App {
  const app = useContext(AppContext);
  if (!app) throw new Error('there is no app around this part');
  return app;
}

export function useStore(): State {
  const { store } = useApp();
  return useSyncExternalStore(store.subscribe, store.get);
}

export function useConnection(): Connection {
  const { api } = useApp();
  return useSyncExternalStore(api.onConnection, api.connection);
}

const isWide = '(min-width: 768px)';

/** Room for a sidebar. */
export function useWide(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = window.matchMedia(isWide);
      media.addEventListener('change', listener);
      return () => media.removeEventListener('change', listener);
    },
    () => window.matchMedia(isWide).matches,
  );
}

/** The first pointer is a finger: Enter in a text is a new line there. */
export function isCoarse(): boolean {
  return window.matchMedia('(pointer: coarse)').matches;
}
