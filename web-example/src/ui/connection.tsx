/** Says when what is shown may be behind. Nothing is disabled by it: answers go over HTTP. */
import { useEffect, useState, type ReactNode } from 'react';
import { useConnection } from './context';
import { t } from './strings';

const PATIENCE_MS = 800;

export function ConnectionBanner(): ReactNode {
  const connection = useConnection();
  const [now, setNow] = useState(Date.now);
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    if (connection.kind === 'live') return setSlow(false);
    // A connection that comes back at once is nothing to speak of.
    const patience = setTimeout(() => setSlow(true), PATIENCE_MS);
    const tick = setInterval(() => setNow(Date.now()), 1_000);
    return () => {
      clearTimeout(patience);
      clearInterval(tick);
    };
  }, [connection.kind]);
  if (connection.kind === 'live' || !isSlow) return null;
  return <p className={`banner ${connection.kind}`} role="status">{textOf(connection, now)}</p>;
}

function textOf(connection: ReturnType<typeof useConnection>, now: number): string {
  if (connection.kind === 'offline') return t.offline;
  if (connection.kind !== 'reconnecting') return t.connecting;
  const seconds = Math.ceil((connection.retryAt - now) / 1_000);
  return seconds > 0 ? t.reconnecting(seconds) : t.reconnectingNow;
}
