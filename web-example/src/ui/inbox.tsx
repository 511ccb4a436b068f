/** Everything that wants somebody now, over all tasks. */
import type { ReactNode } from 'react';
import type { Bundle } from '../api/documents';
import type { TaskEntry } from '../state/store';
import { inbox, permissions } from '../state/views';
import { useStore } from './context';
import { Icon } from './icons';
import { InlineMarkdown } from './markdown';
import { href } from './router';
import { ago, t } from './strings';
import { useSelection, type ListState } from './task-list';

export function Inbox({ list }: { readonly list: ListState }): ReactNode {
  const state = useStore();
  const { busy, choose } = useSelection(nothing);
  const [bundles, wanted] = [inbox(state), permissions(state)];
  const isEmpty = bundles.length + wanted.length === 0;
  return (
    <div className="column">
      <header className="page-head">
        <h1>{t.inbox}</h1>
        {!isEmpty && <p className="muted">{t.inboxLead}</p>}
      </header>
      {isEmpty ? <Nothing list={list} /> : (
        <ul className="inbox">
          {wanted.map((task) => <Wanted key={task.item.id} task={task} isBusy={busy === task.item.id} onChoose={choose} />)}
          {bundles.map((bundle) => <Entry key={bundle.pendingId} bundle={bundle} />)}
        </ul>
      )}
    </div>
  );
}

const nothing = (): void => {};

/** A permission: which session asks for it is the server's to say, as for a row. */
function Wanted({ task, isBusy, onChoose }: { readonly task: TaskEntry; readonly isBusy: boolean; readonly onChoose: (taskId: string) => void }): ReactNode {
  return (
    <li>
      <button type="button" className="card entry" aria-busy={isBusy} onClick={() => onChoose(task.item.id)}>
        <span className="entry-meta"><strong>{task.item.title}</strong></span>
        <span className="entry-question"><Icon name="shield" className="permission" /><span>{t.permissionAsked}</span></span>
      </button>
    </li>
  );
}

function Nothing({ list }: { readonly list: ListState }): ReactNode {
  if (list !== 'ready') return <p className="muted" role="status">{list === 'loading' ? t.inboxLoading : t.inboxFailed}</p>;
  return (
    <div className="empty">
      <Icon name="done" className="done" />
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
