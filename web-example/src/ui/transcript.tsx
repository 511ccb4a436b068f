/** What was said in a session, with a receipt in the place of each bundle of questions. */
import { useLayoutEffect, useRef, type ReactNode } from 'react';
import type { Entry } from '../state/views';
import type { Message } from '../state/store';
import { Markdown } from './markdown';
import { Permission } from './permission';
import { Receipt } from './receipt';
import { moment, t } from './strings';

interface Props {
  readonly sessionId: string;
  readonly entries: readonly Entry[];
  readonly elsewhere: ReadonlySet<string>;
  readonly stale: readonly string[];
  readonly hasOlder: boolean;
  readonly onOlder: () => void;
}

/** So near to its end a reader is taken along when something arrives. */
const NEAR_PX = 120;

export function Transcript({ sessionId, entries, elsewhere, stale, hasOlder, onOlder }: Props): ReactNode {
  const scroll = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const element = scroll.current;
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight;
  });
  const look = (): void => {
    const element = scroll.current;
    if (element) isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
  };
  return (
    <div ref={scroll} className="transcript" onScroll={look} tabIndex={0} role="region" aria-label={t.transcript}>
      <div className="column">
        {hasOlder && <button type="button" className="quiet older" onClick={onOlder}>{t.older}</button>}
        {entries.length === 0 && <p className="muted">{t.transcriptEmpty}</p>}
        {entries.map((entry) =>
          entry.kind === 'bundle' ? (
            <Receipt key={entry.bundle.pendingId} bundle={entry.bundle} isElsewhere={elsewhere.has(entry.bundle.pendingId)} isStale={stale.includes(entry.bundle.pendingId)} />
          ) : (
            <Said key={entry.message.id} sessionId={sessionId} message={entry.message} />
          ),
        )}
      </div>
    </div>
  );
}

function Said({ sessionId, message }: { readonly sessionId: string; readonly message: Message }): ReactNode {
  if (message.kind === 'permission_request') return <Permission sessionId={sessionId} message={message} />;
  const isTool = message.kind === 'tool_call';
  const author = isTool ? t.toolCall : (t.author[message.author] ?? message.author);
  return (
    <article className={`message ${message.author} ${isTool ? 'tool' : ''}`}>
      <header><strong>{author}</strong><time dateTime={message.createdAt}>{moment(message.createdAt)}</time></header>
      {message.author === 'user' ? <p className="plain">{message.content}</p> : <Markdown text={message.content} />}
    </article>
  );
}
