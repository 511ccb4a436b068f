/** Every text of the page. */
import type { Failure, Outcome } from '../state/panel';
import type { RowStatus } from '../state/views';

const plural = (n: number, one: string, many: string): string => (n === 1 ? one : `${n} ${many}`);

export const t = {
  product: 'Answerable',
  documentTitle: (count: number, place: string | null) =>
    `${count > 0 ? `(${count}) ` : ''}${place ? `${place} · ` : ''}Answerable`,
  skipLink: 'Skip to content',

  tasks: 'Tasks',
  tasksHeading: (needy: number) => (needy > 0 ? `Tasks, ${needy} need you` : 'Tasks'),
  needy: (n: number) => `${n} ${n === 1 ? 'needs' : 'need'} you`,
  noTasks: 'No tasks yet. They appear here when an agent begins one.',
  loadingTasks: 'Loading tasks…',
  tasksFailed: 'The tasks could not be loaded.',
  close: 'Close',
  rowStatus: {
    permission: 'Permission requested',
    clarification: 'Needs your answer',
    generating: 'Working',
    background: 'Working in the background',
    starting: 'Starting',
    failed: 'Failed',
    done: 'Done',
    clean: 'Nothing asked',
  } satisfies Record<RowStatus, string>,
  helpers: (n: number) => `${n} ${n === 1 ? 'helper' : 'helpers'}`,

  inbox: 'Needs you',
  inboxLead: 'What agents ask you. The longest waiting question comes first.',
  permissionAsked: 'An agent asks for a permission',
  inboxEmpty: 'Nothing needs you now',
  inboxEmptyLead: 'When an agent asks something, it appears here by itself. You can close this page: no question is lost.',
  inboxLoading: 'Looking for questions…',
  inboxFailed: 'The questions could not be loaded.',
  more: (n: number) => `and ${plural(n, 'one more question', 'more questions')}`,
  asked: (when: string) => `asked ${when}`,
  backToInbox: 'To what needs you',

  taskOnly: 'Sessions of this task',
  taskOnlyLead: 'Choose the conversation to open.',
  noSessions: 'No agent works on this task yet.',
  sessionsFailed: 'The sessions could not be loaded.',
  taskGone: 'This task is gone, or it is not yours.',
  sessionGone: 'This conversation is gone, or it is not yours.',
  sessionOf: (when: string) => `Session of ${when}`,
  primary: 'main',
  sessions: 'Sessions',
  sessionState: {
    CREATED: 'Not begun',
    STARTING: 'Starting',
    RUNNING: 'Working',
    WAITING_FOR_INPUT: 'Waiting',
    IDLE: 'Idle',
    COMPLETED: 'Completed',
    FAILED: 'Failed',
    CANCELLED: 'Cancelled',
  } as Record<string, string>,
  action: { CLARIFICATION: 'Needs your answer', PERMISSION: 'Permission requested' } as const,

  transcript: 'Conversation',
  transcriptEmpty: 'Nothing has been said yet.',
  transcriptLoading: 'Loading the conversation…',
  transcriptFailed: 'The conversation could not be loaded.',
  older: 'Show earlier messages',
  retry: 'Try again',
  author: { user: 'You', agent: 'Agent', system: 'System' } as Record<string, string>,
  toolCall: 'Tool',
  permission: 'Permission request',
  allow: 'Allow',
  deny: 'Deny',
  decided: { approved: 'Allowed', denied: 'Denied', cancelled: 'Withdrawn' } as Record<string, string>,
  notDecided: 'This can no longer be decided.',

  panelHeading: (n: number) => (n === 1 ? 'The agent asks a question' : `The agent asks ${n} questions`),
  receiving: 'Receiving a question…',
  waiting: 'The agent waits for you',
  detached: 'The agent has moved on. Your answer starts its next turn.',
  detachedShort: 'Answer starts the next turn',
  answered: (n: number, of: number) => `${n} of ${of} answered`,
  step: (n: number, of: number) => `Question ${n} of ${of}`,
  stepLabel: (n: number, title: string, isAnswered: boolean) =>
    `Question ${n}${title ? `: ${title}` : ''}${isAnswered ? ', answered' : ', open'}`,
  steps: 'Questions',
  chooseOne: 'Choose one',
  chooseMany: 'Choose any',
  ownAnswer: 'Your own answer',
  ownAnswerOr: 'Or write your own answer',
  ownAnswerAnd: 'Add something in your own words',
  ownAnswerHint: 'Write here',
  recommended: 'Recommended',
  secret: 'Only the agent and you will see this answer. It is not kept as a draft.',
  over: (n: number) => `${plural(n, 'One character', 'characters')} over the limit of 2,000.`,
  left: (n: number) => `${plural(n, 'one character', 'characters')} left`,
  back: 'Back',
  next: 'Next',
  review: 'Review',
  reviewHeading: 'Your answers',
  edit: 'Edit',
  editOf: (title: string) => `Edit the answer to ${title}`,
  notAnswered: 'Not answered yet',
  submit: (n: number) => (n === 1 ? 'Send answer' : 'Send answers'),
  sending: 'Sending…',
  retrySend: 'Send again',
  incomplete: (n: number) => plural(n, 'One question still wants an answer.', 'questions still want an answer.'),
  skip: 'Skip',
  skipSure: (n: number) => (n === 1 ? 'Skip this question?' : `Skip all ${n} questions?`),
  skipHint: 'The agent is told that you declined.',
  keep: 'Keep',
  collapse: 'Collapse',
  expand: 'Show the question',
  barOpen: (n: number) => (n === 1 ? '1 question' : `${n} questions`),
  claimed: 'This is being answered elsewhere. You can answer again if that does not go through.',
  numberKeys: 'Number keys choose',

  announceAsked: (n: number) => (n === 1 ? 'The agent asks a question' : `The agent asks ${n} questions`),
  announceReview: 'All questions are answered. Look at your answers, then send them.',
  failure: {
    'not-taken': 'The agent did not take the answer in time. Nothing is lost: send it again.',
    unreachable: 'The agent cannot be reached now. Your answer was not delivered; send it again later, or when the agent is back.',
    rejected: 'The agent did not accept the answer. It was not delivered; you can send it again.',
    'not-written': 'The answer could not be recorded. You can send it again.',
    'no-reply': 'No reply came back. Send it again: it will not be delivered twice.',
    refused: 'The server cannot take this now. Try again in a moment.',
    invalid: 'Something is not right yet.',
  } satisfies Record<Failure, string>,
  outcome: {
    delivered: 'Answer delivered',
    skipped: 'Skipped. The agent was told that you declined.',
    elsewhere: 'Answered elsewhere. What you see below is what the agent got.',
    superseded: 'Not sent: the agent moved to a newer turn, so this question cannot be answered any more.',
    ended: 'Not sent: the session ended.',
    withdrawn: 'The agent withdrew its question.',
    unknown: 'Your answer may already have reached the agent. It will not be sent again; look at the conversation for what the agent does.',
    'announced-later': 'The agent has your answer. Its next turn will appear a little later.',
    missing: 'This question is gone, or it is not yours.',
  } satisfies Record<Outcome, string>,
  yourText: 'What you had entered',
  copyToComposer: 'Put into the message',
  dismiss: 'Dismiss',

  receipt: {
    ANSWERED: 'Answered',
    REJECTED: 'Skipped',
    CANCELLED: 'Withdrawn by the agent',
    EXPIRED: 'Expired: the session ended first',
    SUPERSEDED: 'A newer turn replaced this question',
    PENDING: 'Waits behind the question below',
  } as const,
  receiptUncertain: 'Answered; delivery unknown',
  receiptLeft: 'No longer open',
  receiptClaimed: 'Being answered',
  receiptElsewhere: 'Answered elsewhere',
  receiptBy: (who: string) => `by ${who}`,
  receiptUnknown: 'It may have reached the agent; nobody can tell yet.',
  receiptReason: (reason: string) => `Reason: ${reason}`,
  masked: 'Hidden: only the agent and who answered see it.',
  noAnswer: 'No answer',

  composer: 'Message to the agent',
  composerHint: 'Write to the agent…',
  composerReplaces: 'A message starts a new turn. The open question can then no longer be answered.',
  send: 'Send',
  sendAnyway: 'Send and replace the question',
  promptFailed: 'The agent did not get the message. You can send it again.',
  promptUnknown: 'The message may have reached the agent. It is not sent again by itself.',
  promptBusy: 'The agent is at work. Send it when its turn is over.',
  promptRefused: 'This session takes no message now.',
  promptLost: 'No reply came back. Send it again: it will not be delivered twice.',

  connecting: 'Connecting…',
  reconnecting: (seconds: number) => `Connection lost. Trying again in ${seconds} s. You can still answer.`,
  unreachable: 'The server cannot be reached. Trying again by itself…',
  reconnectingNow: 'Connection lost. Trying again… You can still answer.',
  offline: 'You are offline. What you enter is kept.',

  signIn: 'Sign in',
  signInLead: 'This server asks for a token. Who runs it can make one for you with the role PERSON.',
  token: 'Token',
  tokenHint: 'Kept until you close this tab.',
  tokenWrong: 'This token is not valid, or not any more.',
} as const;

const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

/** A moment for people: the time of today, else with its day. */
export function moment(text: string, now = new Date()): string {
  const at = new Date(text);
  return at.toDateString() === now.toDateString() ? TIME.format(at) : DAY.format(at);
}

/** How long ago, roughly. */
export function ago(text: string, now = Date.now()): string {
  const minutes = Math.floor((now - new Date(text).getTime()) / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  return minutes < 24 * 60 ? `${Math.floor(minutes / 60)} h ago` : moment(text, new Date(now));
}
