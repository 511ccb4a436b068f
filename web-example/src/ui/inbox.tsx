/** Everything that can be answered now, over all tasks. */
import type { ReactNode } from 'react';
import type { Bundle } from '../api/documents';
import { inbox } from '../state/views';
import { useStore } from './context';
import { Icon } from './icons';
import { InlineMarkdown } from './markdown';
import { href } from './router';
import { ago, t } from './strings';
import type { ListState } from './task-list';

export function Inbox({ list }: { readonly list: ListState }): ReactNode {
  const bundles = inbox(useStore());
  return (
    <div className="column">
      <header className="page-head">
        <h1>{t.inbox}</h1>
        {bundles.length > 0 && <p className="muted">{t.inboxLead}</p>}
      </header>
      {bundles.length === 0 ? <Nothing list={list} /> : (
        <ul className="inbox">
          {bundles.map((bundle) => <Entry key={bundle.pendingId} bundle={bundle} />)}
        </ul>
      )}
    </div>
  );
}

function Nothing({ list }: { readonly list: ListState }): ReactNode {
  if (list !== 'ready') return <p className="muted" role="status">{list === 'loading' ? t.inboxLoading : t.inboxFailed}</p>;
  return (
    <div className="empty">
      <Icon name="done" />
      <h2>{t.inboxEmpty}</h2>
      <p className="muted">{t.inboxEmptyLead}</p>
    </div>
  );
}

function Entry({ bundle }: { readonly bundle: Bundle }): ReactNode {
  const [first, ...rest] = bundle.questions;
  const { session } = bundle;
  if (!session || !first) return null;
  return (
    <li>
      <a className="card entry" href={href(session.taskId, session.id)} data-bundle={bundle.pendingId}>
        <span className="entry-meta"><strong>{session.task?.title}</strong><span>{t.asked(ago(bundle.createdAt))}</span></span>
        <span className="entry-question"><Icon name="question" className="clarification" /><span><InlineMarkdown text={first.prompt} /></span></span>
        <span className="entry-foot">
          <span className={bundle.agentDisconnected ? 'chip' : 'chip live'}>{bundle.agentDisconnected ? t.detachedShort : t.waiting}</span>
          {rest.length > 0 && <span className="muted">{t.more(rest.length)}</span>}
        </span>
      </a>
    </li>
  );
}
