import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEngine } from '../../../src/sandbox/engine/docker/engine.ts';
import { createOwnEngine, whyNoOwnEngine, type OwnEngine } from '../../own-engine.ts';
import { createAsker } from '../ask.ts';
import { insist } from '../insist.ts';
import { fullHost } from '../memory/full-host.ts';
import { PLAYED, WAITING } from '../kinds/memory.ts';
import { limitPostgres } from '../memory/postgres-memory.ts';
import { problemsWithShortMemory } from '../memory/problems-with-short-memory.ts';
import { openScarceRuntime, whyNoScarceRuntime, type ScarceRuntime } from '../memory/scarce-runtime.ts';
import { openFamine, whyNoFamine, type Famine } from '../memory/starve.ts';
import { describeRecovery, judgeRecovery, measureRecovery } from '../measure-recovery.ts';
import { play } from '../play.ts';
import { between } from '../random.ts';
import type { Run, Scenario } from '../scenario.ts';
import { seconds } from '../seconds.ts';
import { strangeEffects } from '../strange-effects.ts';
import type { World } from '../world.ts';

const LANES = 4;
const WORKERS = 2;
/** Sandboxes for which the host has memory: one less than conversations that need one at a time. */
const PLACES = 3;
const CONVERSATION_LIMIT_MS = 180_000;
const QUIET_MS = [1_000, 4_000] as const;
const SHORT_MS = [2_000, 8_000] as const;
const FAULTS = ['worker', 'service', 'postgres', 'engine'] as const;
const WAIT_IN_TIME = '2m';
const WAIT_OVER = '10s';
const RECOVERY_LIMIT_MS = 20_000;
const CLOSING_MS = 30_000;
const REFUSED_MS = 20_000;

export const memory: Scenario = {
  summary:
    'Sandboxes take more memory than they have, more sandboxes are asked for than the host has memory for, the kernel kills workers and services for want of memory, and refuses memory to Postgres and to what starts containers for up to 8 s.',
  minutes: 1,
  rules: ['lost', 'doubled', 'transcript', 'result', 'reported', 'told', 'recovery'],
  spares: false,
  workers: 0,
  missing: async () => (await whyNoOwnEngine()) ?? (await whyNoFamine()) ?? (await whyNoScarceRuntime()),
  async run(world, { verdict, say, minutes }) {
    const runtime = await world.owned(openScarceRuntime);
    const famine = await world.owned(openFamine);
    const engine = await world.owned(() => createOwnEngine({ programs: runtime.directory }));
    await engine.start({ liveRestore: false });
    await engine.takeImage(world.config.LONGSHORE_SANDBOX_IMAGE);
    const settings = { DOCKER_HOST: engine.host, LONGSHORE_HOST_ID: 'small', LONGSHORE_HOST_MEMORY: `${PLACES}g` };
    const full = fullHost(world, PLACES, { verdict, say });
    for (const [LONGSHORE_HOST_WAIT, what] of [
      [WAIT_IN_TIME, 'tryOrder'],
      [WAIT_OVER, 'tryLimit'],
    ] as const) {
      await world.crew.add('worker', { ...settings, LONGSHORE_HOST_WAIT });
      await full[what]();
      await world.crew.dismiss('worker');
    }
    for (let number = 0; number < WORKERS; number += 1) await world.crew.add('worker', settings);
    const over = AbortSignal.timeout(minutes * 60_000);
    const shortening = shortenAtRandom(world, { runtime, famine }, over, { verdict, say });
    const options = { lanes: LANES, over, limitMs: CONVERSATION_LIMIT_MS, kinds: PLAYED, problemsOf: problemsWithShortMemory };
    const { conversations, calls, events } = await play(world, verdict, options);
    const { times, restarts, told } = await shortening;
    verdict.add(...(await strangeEffects(world)));
    verdict.add(...(await leftOn(engine, world)).map((what) => ({ rule: 'left' as const, what })));
    const [{ waits } = { waits: 0 }] = await world.records.query<{ waits: number }>(`select count(*)::int as waits from events where type = 'sandbox.waiting'`);
    say(`callers were told meanwhile: ${told}`);
    say(
      `${FAULTS.map((fault) => `${fault} ${times[fault]}`).join(', ')} times memory was short, Postgres ended ${restarts} times, and ${waits} calls waited for memory; ${conversations} conversations had ${calls} calls and ${events} events`,
    );
  },
};

/** With which memory is made short. */
interface Means {
  runtime: ScarceRuntime;
  famine: Famine;
}

interface Shortened {
  times: Record<(typeof FAULTS)[number], number>;
  restarts: number;
  told: string;
}

async function shortenAtRandom(world: World, means: Means, over: AbortSignal, { verdict, say }: Pick<Run, 'verdict' | 'say'>): Promise<Shortened> {
  const { faults: random } = world.random;
  const times = { worker: 0, service: 0, postgres: 0, engine: 0 };
  const asker = createAsker(world, verdict);
  const left: (typeof FAULTS)[number][] = [];
  for (let restarts = 0; ;) {
    await sleep(between(random, ...QUIET_MS), undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) return { times, restarts, told: asker.told() };
    // All of them in a random order, then again in another one.
    if (left.length === 0) left.push(...FAULTS);
    const [fault = 'worker'] = left.splice(Math.floor(random() * left.length), 1);
    const lengthMs = between(random, ...SHORT_MS);
    const what = await shorten(world, means, fault, { lengthMs, meanwhile: () => asker.askFor(lengthMs) });
    times[fault] += 1;
    const hasEnded = await world.restartPostgres();
    restarts += hasEnded ? 1 : 0;
    const [recovery] = await Promise.all([measureRecovery(world), asker.askAgain()]);
    say(`${what}${hasEnded ? ', and it ended' : ''}: ${describeRecovery(recovery)}`);
    judgeRecovery(verdict, recovery, { limitMs: RECOVERY_LIMIT_MS, after: what });
  }
}

/** Gives what was done. */
async function shorten(
  world: World,
  { runtime, famine }: Means,
  fault: (typeof FAULTS)[number],
  { lengthMs, meanwhile }: { lengthMs: number; meanwhile: () => Promise<void> },
): Promise<string> {
  if (fault === 'worker' || fault === 'service') {
    const pid = await world.crew.kill(fault, (victim) => victim.endBy(() => famine.starve(victim.pid)));
    return `the kernel killed ${fault} ${pid}, which was out of memory`;
  }
  if (fault === 'postgres') {
    await limitPostgres(world, meanwhile);
    return `Postgres got no more memory for ${seconds(lengthMs)}`;
  }
  const [before, begun] = [await runtime.refused(), performance.now()];
  await runtime.refuse();
  const reply = replyOfNewSandbox(world);
  reply.catch(() => undefined);
  await meanwhile();
  // Until one could not be made: the host may be full before.
  for (const end = Date.now() + REFUSED_MS; (await runtime.refused()) === before && Date.now() < end;) await sleep(100);
  const what = `what starts containers got no memory for ${seconds(performance.now() - begun)}, and ${(await runtime.refused()) - before} containers could not be made`;
  await runtime.allow();
  if ((await reply) !== WAITING.waiter.turns[0]?.steps.at(-1)?.say)
    throw new Error(`a conversation whose sandbox could not be started ended with "${await reply}"`);
  return what;
}

/** Of a conversation that begins now. */
async function replyOfNewSandbox({ longshore }: World): Promise<string> {
  const signal = AbortSignal.timeout(CONVERSATION_LIMIT_MS);
  const conversationId = `begun-${randomUUID()}`;
  const { message } = WAITING.waiter.turns[0]!;
  const chat = await insist(signal, () => longshore.start({ agent: 'waiter', user: 'ann', conversationId, message, closeWhenDone: true }));
  return insist(signal, () => chat.reply());
}

/** What there still is on the engine when all conversations have closed. */
async function leftOn({ host }: OwnEngine, { workflows, installation }: World): Promise<string[]> {
  const engine = createEngine(host);
  const things = async () => [
    ...(await engine.containersOf(installation)).map(({ name }) => `container ${name} of the small host`),
    ...(await engine.volumesOf(installation)).map(({ name }) => `volume ${name} of the small host`),
  ];
  const isOpen = async () => (await workflows.count(`ExecutionStatus = 'Running'`)).count > 0;
  for (const end = Date.now() + CLOSING_MS; (await isOpen()) || (await things()).length > 0; await sleep(500)) if (Date.now() > end) break;
  return things();
}
