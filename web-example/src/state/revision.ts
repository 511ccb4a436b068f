/** Which of two readings is newer. No clock and no order of arrival decides, only what the server counted. */

/** A version: the server's generation, then its count within the session; both decimal text of any length. */
export interface Revision {
  readonly epoch: string;
  readonly sequence: string;
}

const DECIMAL = /^\d+$/;

/** -1, 0 or 1 as `a` is older than, the same as or newer than `b`; null: one of them cannot be read. */
export function compare(a: Revision, b: Revision): -1 | 0 | 1 | null {
  if (![a.epoch, a.sequence, b.epoch, b.sequence].every((part) => DECIMAL.test(part))) return null;
  return order(a.epoch, b.epoch) || order(a.sequence, b.sequence);
}

function order(a: string, b: string): -1 | 0 | 1 {
  const [left, right] = [BigInt(a), BigInt(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Whether what arrives may replace what is held. What cannot be read never replaces, and is always replaced. */
export function mayReplace(held: Revision | null | undefined, arriving: Revision | null | undefined): boolean {
  if (!arriving || compare(arriving, arriving) === null) return false;
  if (!held) return true;
  return compare(held, arriving) !== 1;
}

/** Whether `a` is readable and strictly newer than `b`. */
export function isNewer(a: Revision, b: Revision | null | undefined): boolean {
  return mayReplace(b, a) && (!b || compare(a, b) !== 0);
}
