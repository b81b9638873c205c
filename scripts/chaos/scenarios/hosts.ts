import { setTimeout as sleep } from 'node:timers/promises';
import { whyNoOwnEngine } from '../../own-engine.ts';
import { HOSTED } from '../kinds/kinds.ts';
import { LOST_AFTER_MS, openHosts, type ChaosHost, type ChaosHosts, type Servers } from '../hosts/open-hosts.ts';
import { problemsWithLosses } from '../hosts/problems-with-losses.ts';
import { play } from '../play.ts';
import { between, oneOf } from '../random.ts';
import type { Run, Scenario } from '../scenario.ts';
import { seconds } from '../seconds.ts';
import type { World } from '../world.ts';

const LANES = 4;
const CONVERSATION_LIMIT_MS = 300_000;
const QUIET_MS = [3_000, 8_000] as const;
/** Short ones end before the host is given up. Long ones do not: the other host has to have been there for as long, too. */
const OUTAGES_MS = { short: [1_000, 20_000], long: [LOST_AFTER_MS + 10_000, LOST_AFTER_MS + 30_000] } as const;
/** `vanishing`: a death of which the servers hear nothing, as no connection ends. */
const FAULTS = ['cut', 'silence', 'death', 'vanishing'] as const;
type Fault = (typeof FAULTS)[number];
const DEATHS: ReadonlySet<Fault> = new Set(['death', 'vanishing']);
/** Where one server is reached, the host goes on with half of its work. */
const SERVERS = ['both', 'both', 'Postgres', 'Temporal'] as const;
/** A host says six times in `LOST_AFTER_MS` that it is there; when it does, it removes what has been taken over. */
const SINGLE_AFTER_MS = 20_000;
const CLOSING_MS = 30_000;

export const hosts: Scenario = {
  summary:
    'Two hosts, of which one at a time is cut off from both servers or one of them with all that runs on it, or dies, with its connections or without their end, and comes back, for less or more time than after which it is given up.',
  minutes: 6,
  rules: ['lost', 'doubled', 'transcript', 'result', 'reported'],
  spares: false,
  workers: 0,
  missing: whyNoOwnEngine,
  async run(world, { verdict, say, minutes }) {
    const opened = await openHosts(world);
    const over = AbortSignal.timeout(minutes * 60_000);
    const losing = loseAtRandom(world, opened, over, { verdict, say });
    const options = { lanes: LANES, over, limitMs: CONVERSATION_LIMIT_MS, kinds: HOSTED, problemsOf: problemsWithLosses };
    const { conversations, calls, events } = await play(world, verdict, options);
    const { outages, replaced } = await losing;
    for (const end = Date.now() + CLOSING_MS; (await world.workflows.count(`ExecutionStatus = 'Running'`)).count > 0 && Date.now() < end;) await sleep(500);
    for (const host of opened.all) verdict.add(...(await host.stop()).map((what) => ({ rule: 'left' as const, what })));
    world.alsoGone(opened.orphans());
    say(`${outages} times a host was lost, and ${replaced} sandboxes were taken over; ${conversations} conversations had ${calls} calls and ${events} events`);
  },
};

async function loseAtRandom(
  world: World,
  { all }: ChaosHosts,
  over: AbortSignal,
  run: Pick<Run, 'verdict' | 'say'>,
): Promise<{ outages: number; replaced: number }> {
  const { faults: random } = world.random;
  const replaced = new Set<string>();
  let outages = 0;
  for (;;) {
    await sleep(between(random, ...QUIET_MS), undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) return { outages, replaced: replaced.size };
    const host = oneOf(random, all);
    const fault = oneOf(random, host.die ? FAULTS : (['cut', 'silence'] as const));
    const [least, most] = OUTAGES_MS[oneOf(random, ['short', 'long'] as const)];
    const lengthMs = between(random, least, most);
    const survivors = random() < 0.5;
    const server = DEATHS.has(fault) ? 'both' : oneOf(random, SERVERS);
    const before = await sandboxesOn(world, host);
    await lose(host, fault, server);
    await sleep(lengthMs);
    const still = await sandboxesOn(world, host);
    const taken = before.filter((id) => !still.includes(id));
    taken.forEach((id) => replaced.add(id));
    host.network.heal();
    if (DEATHS.has(fault)) await host.comeBack(survivors);
    outages += 1;
    const aloneMs = await untilSingle(world, all);
    const what = `${fault} of host "${host.id}"${server === 'both' ? '' : ` and ${server} alone`} for ${seconds(lengthMs)}`;
    run.say(`${what}: ${taken.length} of its sandboxes were taken over, ${seconds(aloneMs)} until none of them ran on there`);
    if (aloneMs > SINGLE_AFTER_MS)
      run.verdict.add({ rule: 'doubled', what: `after ${what}, these ran beside their successors: ${(await superseded(world, all)).join(', ')}` });
  }
}

async function lose({ network, die }: ChaosHost, fault: Fault, server: Servers): Promise<void> {
  if (fault === 'cut') network.cut(server);
  else if (fault !== 'death') network.silence(server);
  if (DEATHS.has(fault)) await die?.();
}

async function sandboxesOn({ records }: World, { id }: ChaosHost): Promise<string[]> {
  return (await records.query<{ id: string }>('select sandbox_id as id from sandboxes where host_id = $1', [id])).map((row) => row.id);
}

/** Containers that run, although the rows of their sandboxes name others. Those of an engine that is dead are not seen. */
async function superseded(world: World, all: readonly ChaosHost[]): Promise<string[]> {
  const rows = await world.records.query<{ id: string; fence: string; host: string }>('select sandbox_id as id, fence, host_id as host from sandboxes');
  const found = await Promise.all(
    all.map(async (host) => {
      const running = await host.containers().catch(() => []);
      return running
        .filter(({ sandboxId, fence }) => rows.some((row) => row.id === sandboxId && (row.host !== host.id || Number(row.fence) !== fence)))
        .map(({ name }) => `${name} on "${host.id}"`);
    }),
  );
  return found.flat();
}

async function untilSingle(world: World, all: readonly ChaosHost[]): Promise<number> {
  const begun = performance.now();
  const since = () => performance.now() - begun;
  while ((await superseded(world, all)).length > 0 && since() <= SINGLE_AFTER_MS) await sleep(200);
  return since();
}
