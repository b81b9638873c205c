import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KINDS, STORED } from '../kinds/kinds.ts';
import { describeRecovery, judgeRecovery, measureRecovery } from '../measure-recovery.ts';
import { play } from '../play.ts';
import { between, oneOf } from '../random.ts';
import type { Run, Scenario } from '../scenario.ts';
import { strangeEffects } from '../strange-effects.ts';
import type { World } from '../world.ts';

const LANES = 4;
const CONVERSATION_LIMIT_MS = 180_000;
/** Of the Debian package `libfaketime`, for other programs than this one. */
const LIBRARY = `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/faketime/libfaketimeMT.so.1`;
const HOUR = 3_600;
const PAUSE_MS = [3_000, 8_000] as const;
const RECOVERY_LIMIT_MS = 20_000;

export const clocks: Scenario = {
  summary: 'The clocks of workers and services are an hour ahead or behind, or are set forward and back by an hour or two.',
  minutes: 2,
  rules: ['lost', 'doubled', 'transcript', 'result', 'reported', 'recovery'],
  spares: false,
  workers: 0,
  missing: async () => (existsSync(LIBRARY) ? undefined : `there is no ${LIBRARY} (apt-get install libfaketime)`),
  async run(world, { verdict, say, minutes }) {
    const clock = await world.owned(openClock);
    for (const settings of [clock.wrongBy(HOUR), clock.wrongBy(-HOUR), clock.settable]) await world.crew.add('worker', settings);
    for (const settings of [clock.wrongBy(HOUR), clock.wrongBy(-HOUR)]) await world.crew.add('service', settings);
    const over = AbortSignal.timeout(minutes * 60_000);
    const setting = setAtRandom(world, clock, over, { verdict, say });
    const options = { lanes: LANES, over, limitMs: CONVERSATION_LIMIT_MS, kinds: { ...KINDS, resting: STORED['resting']! } };
    const { conversations, calls, events } = await play(world, verdict, options);
    const times = await setting;
    verdict.add(...(await strangeEffects(world)));
    say(`a clock was set ${times} times; ${conversations} conversations had ${calls} calls and ${events} events`);
  },
};

interface Clock extends AsyncDisposable {
  /** Settings of a process whose clock is wrong from its start to its end. */
  wrongBy(seconds: number): NodeJS.ProcessEnv;
  /** Settings of processes whose clock is what `set` says. Their timers run on. */
  settable: NodeJS.ProcessEnv;
  set(seconds: number): Promise<void>;
}

async function openClock(): Promise<Clock> {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-clock-'));
  const file = join(directory, 'clock');
  const set = (seconds: number) => writeFile(file, textOf(seconds));
  await set(0);
  const settings = { LD_PRELOAD: LIBRARY, FAKETIME_DONT_FAKE_MONOTONIC: '1', FAKETIME_CACHE_DURATION: '1' };
  return {
    wrongBy: (seconds) => ({ ...settings, FAKETIME: textOf(seconds) }),
    settable: { ...settings, FAKETIME_TIMESTAMP_FILE: file },
    set,
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}

function textOf(seconds: number): string {
  return seconds < 0 ? String(seconds) : `+${seconds}`;
}

async function setAtRandom(world: World, clock: Clock, over: AbortSignal, { verdict, say }: Pick<Run, 'verdict' | 'say'>): Promise<number> {
  const { faults: random } = world.random;
  for (let times = 0; ; times += 1) {
    await sleep(between(random, ...PAUSE_MS), undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) return times;
    const seconds = oneOf(random, [-HOUR, 0, HOUR] as const);
    await clock.set(seconds);
    const recovery = await measureRecovery(world);
    const what = `a clock that was set to ${textOf(seconds)} s`;
    say(`${what}: ${describeRecovery(recovery)}`);
    judgeRecovery(verdict, recovery, { limitMs: RECOVERY_LIMIT_MS, after: what });
  }
}
