import { Command } from 'commander';
import { parseDuration } from '../../common/duration.ts';
import { pause } from '../../common/pause.ts';
import { failure } from '../../contracts/errors.ts';
import { visibleLine } from '../../contracts/visible-text.ts';
import { ON_HOST, type SandboxRow } from '../../store/sandbox-rows.ts';
import type { KnownHost } from '../../store/service/fleet.ts';
import type { Store } from '../../store/store.ts';
import { EXIT, printError, printFact, printJsonLine, type Cli } from '../output/cli.ts';
import { withStore } from '../output/with-store.ts';
import { findHost, refuseHost } from './known-hosts.ts';

interface DrainOptions {
  wait: boolean;
  sharedDirectory?: boolean;
  json?: boolean;
}

const LOOK_EVERY_MS = 1_000;
/** How often workers hear whether their host is drained, in the time after which a host counts as lost. */
const BEATS = 6;
const NAMED = 5;

export function drainCommand(cli: Cli): Command {
  return new Command('drain')
    .description(
      'Take a host out of service: it gets no more sandboxes, and its worker moves those that it has into the blob store. Their next use brings them back elsewhere',
    )
    .argument('<host>')
    .option('--no-wait', 'do not wait until all are moved')
    .option('--shared-directory', 'the directory of LONGSHORE_BLOBS is one that all hosts have')
    .option('--json', 'progress as JSON, one object in each line')
    .action((hostId: string, options: DrainOptions) => withStore(cli, (store) => drain(cli, store, hostId, options)));
}

async function drain(cli: Cli, store: Store, hostId: string, { wait, sharedDirectory, json }: DrainOptions): Promise<void> {
  const { LONGSHORE_BLOBS: blobs, LONGSHORE_HOST_LOST_AFTER: lostAfter } = cli.config();
  if (blobs?.startsWith('file:') && !sharedDirectory) {
    const problem = `sandboxes are moved through LONGSHORE_BLOBS, and other hosts cannot read the directory ${blobs} if it is of one machine`;
    throw failure('INVALID_ARGUMENT', { what: 'drain', problem, fix: 'Add --shared-directory if all hosts have it; or keep blobs in S3 or Postgres' });
  }
  const lostAfterMs = parseDuration(lostAfter);
  const { isThere } = await findHost(store, hostId, lostAfterMs);
  if (!(await store.fleet.setDraining(hostId, true))) throw refuseHost(hostId);
  const others = (await store.fleet.hosts(lostAfterMs)).filter((host) => host.isThere && host.drainingSince === undefined);
  if (!isThere) printError(cli, `No worker of host "${hostId}" is there: its sandboxes stay until one is started.`);
  if (others.length === 0) printError(cli, 'No other host is there that takes sandboxes: calls that need one wait until there is.');
  if (wait) await watch(cli, store, { hostId, lostAfterMs, json: json === true });
  else if (json) printJsonLine(cli, await progressOf(store, { hostId, isThere }, new Set()));
  else printFact(cli, `Host "${hostId}" is being drained. See how far it is: longshore hosts drain ${hostId}`);
}

interface Watched {
  hostId: string;
  lostAfterMs: number;
  json: boolean;
}

/** Shows what is left, at each change, until nothing is and its workers make no more, or until it is not drained any more. An interrupt ends only the showing. */
async function watch(cli: Cli, store: Store, { hostId, lostAfterMs, json }: Watched): Promise<void> {
  const stopped = new AbortController();
  const release = cli.onInterrupt(() => stopped.abort());
  try {
    const all = new Set<string>();
    for (let said = ''; ;) {
      const [host] = await store.fleet.hosts(lostAfterMs, hostId);
      if (host?.drainingSince === undefined) return notDrained(cli, hostId, host);
      const isKnown = isKnownThere(host, lostAfterMs);
      const progress = await progressOf(store, host, all);
      const { left } = progress;
      const text = json ? JSON.stringify(progress) : textOf(progress, isKnown);
      if (text !== said && json) printJsonLine(cli, progress);
      else if (text !== said) printFact(cli, text);
      said = text;
      if (isKnown && left.length === 0) break;
      await pause(LOOK_EVERY_MS, stopped.signal);
      if (stopped.signal.aborted) return leave(cli, hostId);
    }
    if (!json) printFact(cli, `Nothing is left on host "${hostId}". It takes no sandboxes until: longshore hosts resume ${hostId}`);
  } finally {
    release();
  }
}

/** A worker that has not heard yet that its host is drained may still make a sandbox. It hears of it when it says that the host is there. */
function isKnownThere({ isThere, heardAt, drainingSince = heardAt }: KnownHost, lostAfterMs: number): boolean {
  return !isThere || Date.parse(heardAt) - Date.parse(drainingSince) >= lostAfterMs / BEATS;
}

/** What is on the host now. @param all the ids of all that have been seen there, to which it adds */
async function progressOf(store: Store, { hostId, isThere }: Pick<KnownHost, 'hostId' | 'isThere'>, all: Set<string>): Promise<Progress> {
  // First, so that one that has come back in between is among the others.
  const coming = isThere ? await store.sandboxes.listPromised(hostId, 0) : [];
  const there = await store.sandboxes.list({ hostId, states: ON_HOST });
  const onIt = new Set(there.map(({ sandboxId }) => sandboxId));
  const rows = [...there, ...coming.map(({ row }) => row).filter(({ sandboxId }) => !onIt.has(sandboxId))];
  for (const { sandboxId } of rows) all.add(sandboxId);
  const why = async (row: SandboxRow) => (isThere ? whyLeft(store, row) : 'no worker of its host is there');
  const left = await Promise.all(rows.map(async (row) => ({ sandboxId: row.sandboxId, state: row.state, why: await why(row) })));
  return { moved: all.size - left.length, all: all.size, left };
}

/** Another operator has ended it. */
function notDrained(cli: Cli, hostId: string, host: KnownHost | undefined): void {
  const what = host ? `is not being drained any more, and takes sandboxes. To drain it again: longshore hosts drain ${hostId}` : 'was removed';
  printError(cli, visibleLine(`Host "${hostId}" ${what}.`));
  cli.exitCode = EXIT.failed;
}

function leave(cli: Cli, hostId: string): void {
  printError(cli, `The host is still being drained. See how far it is: longshore hosts drain ${hostId}. To end it: longshore hosts resume ${hostId}`);
  cli.exitCode = EXIT.interrupted;
}

async function whyLeft({ sandboxUses }: Store, { conversationId, state, paused }: SandboxRow): Promise<string> {
  const use = conversationId === undefined ? 'no' : await sandboxUses.inUse(conversationId);
  if (use === 'works') return paused ? `${conversationId} is paused in a call` : `a call of ${conversationId} runs`;
  if (use === 'waits') return `code of ${conversationId} waits for a call`;
  if (state === 'archived') return 'it is being brought back';
  return state === 'creating' ? 'it is being made' : 'it is next';
}

interface Progress {
  moved: number;
  all: number;
  left: { sandboxId: string; state: SandboxRow['state']; why: string }[];
}

function textOf({ moved, all, left }: Progress, isKnown: boolean): string {
  if (left.length === 0) return `${moved} of ${all} moved${isKnown ? '' : '; waiting until all workers of the host know that it is drained'}`;
  const waited = left.slice(0, NAMED).map(({ sandboxId, why }) => `${sandboxId} (${why})`);
  const more = left.length > NAMED ? ` and ${left.length - NAMED} more` : '';
  return `${moved} of ${all} moved; left: ${waited.join(', ')}${more}`;
}
