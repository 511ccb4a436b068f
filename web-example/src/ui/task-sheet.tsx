/** The task list of a phone: a dialog that slides over the page. */
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { Icon } from './icons';
import { t } from './strings';
import { TaskList, type ListState } from './task-list';

export function TaskSheet({ list, needy }: { readonly list: ListState; readonly needy: number }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    // A modal dialog keeps the focus inside and gives it back to its opener.
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  const close = (): void => setOpen(false);
  return (
    <>
      <button type="button" className="quiet" aria-haspopup="dialog" aria-expanded={isOpen} onClick={() => setOpen(true)}>
        <Icon name="menu" />{t.tasks}{needy > 0 && <span className="badge">{t.needy(needy)}</span>}
      </button>
      <dialog ref={dialog} className="sheet" aria-label={t.tasks} onClose={close} onClick={(event) => event.target === dialog.current && close()}>
        {isOpen && (
          <div className="sheet-body">
            <button type="button" className="quiet close" onClick={close}><Icon name="close" />{t.close}</button>
            <TaskList list={list} onChosen={close} />
          </div>
        )}
      </dialog>
    </>
  );
}
