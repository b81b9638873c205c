import { ActivityFailure, ApplicationFailure, patched, sleep, TimeoutFailure, workflowInfo, type ActivityOptions } from '@temporalio/workflow';
import { type Elsewhere, HOST_CUT_OFF, hostQueue, SANDBOX_ELSEWHERE } from '../../contracts/hosts/elsewhere.ts';
import { isObject } from '../../contracts/json.ts';
import type { ConversationData } from '../state/conversation-data.ts';

/** What is known of where the conversation's sandbox is. */
export type Whereabouts = Pick<ConversationData, 'sandboxHost'>;
/** Options that send an activity to a host; empty for the queue of all workers. */
export type At = Pick<ActivityOptions, 'taskQueue' | 'scheduleToStartTimeout'>;

interface Routing {
  /** How often it waits in vain for the host that is said to have the sandbox. Default: until that host is lost or there again. */
  waits?: number;
  /** It uses a sandbox of a plugin, which may be on another host than the conversation's. */
  isOwn?: boolean;
}
type Host = NonNullable<ConversationData['sandboxHost']>;

/** Hosts that one after the other say that the sandbox is on another one. */
const MOST_MOVES = 20;
const LONGEST_WAIT_MS = 10 * 60_000;
/** Patch id. Before it, a host that was answered for was asked again at once: hundreds of times while the host that is to have the sandbox could not know that it is lost. */
const PAUSES_BEFORE_CUT_OFF = 'pauses-before-cut-off';
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Runs an activity that uses a sandbox. It goes to the host that is known to have the sandbox, or else to any worker. A worker of another host does nothing and
 * says where the sandbox is; then the activity is repeated there, and so are the next ones of this conversation. When no worker polls the queue of that host for as
 * long as it takes to give a host up, or its worker has not reached Postgres for as long, any worker is asked again, which takes the sandbox over if the host is lost.
 */
export function atHost<T>(place: Whereabouts, act: (at: At) => Promise<T>, routing: Routing = {}): Promise<T> {
  const host = routing.isOwn ? undefined : place.sandboxHost;
  return act(toQueue(host, 0)).catch((error: unknown) => follow(place, act, routing, { host, error }));
}

async function follow<T>(place: Whereabouts, act: (at: At) => Promise<T>, { waits: most = Infinity, isOwn }: Routing, first: Tried): Promise<T> {
  let [tried, moves, waits] = [first, 0, 0];
  const pauseBefore = createPauses();
  for (;;) {
    const next = nextAfter(tried);
    if (next === undefined) throw tried.error;
    [moves, waits] = next.host ? [moves + 1, waits] : [0, waits + 1];
    if (!isOwn) remember(place, next.host);
    if (moves > MOST_MOVES || waits > most) throw tried.error;
    const pause = pauseBefore(tried, next.host);
    if (pause) await pause;
    try {
      return await act(toQueue(next.host, waits));
    } catch (error) {
      tried = { host: next.host, error };
    }
  }
}

/** Pauses before a host is asked again that is answered for, since such an answer takes no time. Not asynchronous, for the order in recorded histories. */
function createPauses() {
  const answers = new Map<string, number>();
  return ({ host, error }: Tried, next: Host | undefined): Promise<void> | undefined => {
    if (host && isCutOff(causeOf(error))) answers.set(host.id, (answers.get(host.id) ?? 0) + 1);
    const count = next && answers.get(next.id);
    if (count === undefined || !patched(PAUSES_BEFORE_CUT_OFF)) return undefined;
    return sleep(Math.min(FIRST_PAUSE_MS * 2 ** (count - 1), LONGEST_PAUSE_MS));
  };
}

interface Tried {
  host: Host | undefined;
  error: unknown;
}

/** Where an activity is repeated: on a host, or by any worker. Undefined when its error has nothing to do with where it ran. */
function nextAfter({ host, error }: Tried): { host: Host | undefined } | undefined {
  const cause = causeOf(error);
  if (host && isAway(cause)) return { host: undefined };
  const told: unknown = cause instanceof ApplicationFailure && cause.type === SANDBOX_ELSEWHERE ? cause.details?.[0] : undefined;
  return isElsewhere(told) ? { host: { id: told.host, waitMs: told.waitMs } } : undefined;
}

function causeOf(error: unknown): unknown {
  return error instanceof ActivityFailure ? error.cause : undefined;
}

/** No worker polls the queue of the host, or its worker does not reach Postgres. */
function isAway(cause: unknown): boolean {
  if (cause instanceof TimeoutFailure) return cause.timeoutType === 'SCHEDULE_TO_START';
  return isCutOff(cause);
}

function isCutOff(cause: unknown): boolean {
  return cause instanceof ApplicationFailure && cause.type === HOST_CUT_OFF;
}

function isElsewhere(told: unknown): told is Elsewhere {
  return isObject(told) && typeof told['host'] === 'string' && typeof told['waitMs'] === 'number';
}

function remember(place: Whereabouts, host: Host | undefined): void {
  if (host) place.sandboxHost = host;
  else delete place.sandboxHost;
}

function toQueue(host: Host | undefined, waits: number): At {
  if (!host) return {};
  return { taskQueue: hostQueue(workflowInfo().taskQueue, host.id), scheduleToStartTimeout: Math.min(host.waitMs * 2 ** waits, LONGEST_WAIT_MS) };
}
