/** Small pictures. Each stands beside its words, so none is told to a screen reader. */
import type { ReactNode } from 'react';

const PATHS = {
  question: 'M12 21a9 9 0 1 0-8-4.9L3 21l4.9-1A9 9 0 0 0 12 21ZM9.5 9.6a2.6 2.6 0 1 1 3.6 2.4c-.7.3-1.1.8-1.1 1.5v.3M12 16.6v.01',
  shield: 'M12 3 5 5.6v5.2c0 4.4 2.9 7.9 7 9.7 4.1-1.8 7-5.3 7-9.7V5.6L12 3Zm0 5.2v4.2m0 3v.01',
  working: 'M12 4a8 8 0 1 1-7.4 5M4 4.6 4.6 9 9 8.4',
  background: 'M8.5 8.5H20V20H8.5V8.5ZM15.5 5V4H4v11.5h1.5',
  starting: 'M12 7v5l3.2 2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z',
  failed: 'M12 8v5m0 3v.01M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z',
  done: 'm8 12.3 2.8 2.7L16 9.6M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z',
  clean: 'M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16Z',
  menu: 'M4 7h16M4 12h16M4 17h10',
  close: 'M6 6l12 12M18 6 6 18',
  down: 'm6 9 6 6 6-6',
  up: 'm6 15 6-6 6 6',
  skip: 'm5 6 6 6-6 6M13 6l6 6-6 6',
  inbox: 'M4 13.5 6.5 5h11L20 13.5V19H4v-5.5Zm0 0h4.5c.4 1.6 1.7 2.6 3.5 2.6s3.1-1 3.5-2.6H20',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, className }: { readonly name: IconName; readonly className?: string }): ReactNode {
  return (
    <svg className={`icon ${className ?? ''}`} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
