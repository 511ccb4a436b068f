/** A permission that an agent asks for, and its decision. */
import { useState, type ReactNode } from 'react';
import { DecideMutation } from '../api/documents';
import type { Message } from '../state/store';
import { useApp } from './context';
import { Icon } from './icons';
import { Markdown } from './markdown';
import { moment, t } from './strings';

interface Request {
  readonly id: string;
  readonly status: string;
}

/** What the message notes of it; null: it cannot be read, so nobody can decide it here. */
export function requestOf(metadata: unknown): Request | null {
  if (typeof metadata !== 'object' || metadata === null || !('pending_id' in metadata)) return null;
  const { pending_id: id } = metadata;
  const status = 'status' in metadata && typeof metadata.status === 'string' ? metadata.status : 'pending';
  return typeof id === 'string' ? { id, status } : null;
}

export function Permission({ sessionId, message }: { readonly sessionId: string; readonly message: Message }): ReactNode {
  const request = requestOf(message.metadata);
  const isPending = request?.status === 'pending';
  return (
    <article className={isPending ? 'message permission' : 'message permission decided'}>
      <header>
        <Icon name="shield" className="permission" />
        <strong>{isPending ? t.permission : (t.decided[request?.status ?? ''] ?? t.permission)}</strong>
        <time dateTime={message.createdAt}>{moment(message.createdAt)}</time>
      </header>
      <Markdown text={message.content} />
      {request && isPending && <Decide sessionId={sessionId} permissionId={request.id} />}
    </article>
  );
}

function Decide({ sessionId, permissionId }: { readonly sessionId: string; readonly permissionId: string }): ReactNode {
  const { api, mayAnswer } = useApp();
  const [isBusy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  if (!mayAnswer) return null;
  const decide = async (decision: 'APPROVED' | 'DENIED'): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    setTrouble(null);
    try {
      const { resolvePermissionRequest: result } = await api.mutate(DecideMutation, { sessionId, permissionId, decision });
      if (result.__typename !== 'PermissionPayload') setTrouble(t.notDecided);
    } catch {
      setTrouble(t.failure['no-reply']);
    }
    setBusy(false);
  };
  return (
    <>
      <div className="outcome-actions">
        <button type="button" className="primary" aria-disabled={isBusy} onClick={() => void decide('APPROVED')}>{t.allow}</button>
        <button type="button" className="secondary" aria-disabled={isBusy} onClick={() => void decide('DENIED')}>{t.deny}</button>
      </div>
      {trouble && <p role="alert" className="alert">{trouble}</p>}
    </>
  );
}
