// The task list as a careful service would read it from the same file: one statement for the page and its summaries,
// one for what is pending in its sessions, by the view that holds the rule.
import { readFileSync } from 'node:fs';

import Database from 'better-sqlite3';

// The server's own schema: the same documents run everywhere.
export const typeDefs = readFileSync(new URL('../../../schema.graphql', import.meta.url), 'utf8');

const ROW = `SELECT t.id, t.title, t.state, t.created_us, t.updated_us, t.last_activity_us,
    s.revision, s.updated_us AS summary_us, s.summary
  FROM tasks t LEFT JOIN task_status_summaries s ON s.task_id = t.id`;
const ORDER = 'ORDER BY t.last_activity_us DESC, t.id DESC LIMIT ?';

const moment = (us) => `${new Date(Math.floor(us / 1000)).toISOString().slice(0, -1)}${String(us % 1000).padStart(3, '0')}Z`;

const summary = (row) => {
  const { pending_action: pendingAction = null } = JSON.parse(row.summary);
  return { revision: String(row.revision), updatedAt: moment(row.summary_us), pendingAction: pendingAction?.toUpperCase() ?? null };
};

const task = (row, pending) => ({
  id: row.id,
  title: row.title,
  state: row.state,
  createdAt: moment(row.created_us),
  updatedAt: moment(row.updated_us),
  lastActivityAt: moment(row.last_activity_us),
  pendingAction: pending.get(row.id) ?? null,
  statusSummary: row.summary === null ? null : summary(row),
});

// A permission goes before a clarification.
const pendingActions = (rows) => {
  const pending = new Map();
  for (const { task_id: id, pending_action: action } of rows) {
    if (action === 'permission' || !pending.has(id)) pending.set(id, action.toUpperCase());
  }
  return pending;
};

// A file that a server has open, read only.
export const open = (file) => {
  const db = new Database(file, { readonly: true, fileMustExist: true });
  const first = db.prepare(`${ROW} ${ORDER}`);
  const later = db.prepare(`${ROW} WHERE (t.last_activity_us, t.id) < (?, ?) ${ORDER}`);
  const pending = db.prepare(`SELECT task_id, pending_action FROM session_projections
    WHERE is_input_capable AND pending_action IS NOT NULL AND task_id IN (SELECT value FROM json_each(?))`);
  const read = (after, limit) => {
    if (!after) return first.all(limit);
    const [us, id] = Buffer.from(after, 'base64url').toString().split(':');
    return later.all(Number(us), id, limit);
  };
  return ({ first: size, after }) => {
    const rows = read(after, size + 1);
    const hasNextPage = rows.length > size;
    if (hasNextPage) rows.pop();
    const actions = pendingActions(pending.all(JSON.stringify(rows.map((row) => row.id))));
    const cursor = (row) => Buffer.from(`${row.last_activity_us}:${row.id}`).toString('base64url');
    const edges = rows.map((row) => ({ cursor: cursor(row), node: task(row, actions) }));
    const pageInfo = { hasNextPage, hasPreviousPage: false, startCursor: edges.at(0)?.cursor ?? null, endCursor: edges.at(-1)?.cursor ?? null };
    return { edges, pageInfo };
  };
};
