import { oneOf, type Random } from './random.ts';
import { namesBelow, startProcess, type Launch, type OwnProcess, type ProcessKind } from './processes.ts';
import type { Address } from './faults/way.ts';

/** The workers and services of an installation. Where `spares` is true, one more of each waits to take the place of one that is killed. */
export interface Crew extends AsyncDisposable {
  members(): readonly OwnProcess[];
  /** Where a request goes: the services take turns. Undefined when none is ready. */
  service(): Address | undefined;
  /** One more, with settings of its own; resolves when it is ready. */
  add(kind: ProcessKind, settings: NodeJS.ProcessEnv): Promise<void>;
  /** Kills one (`how`: makes it end), and resolves when another is in its place. Gives the id of the killed process. */
  kill(kind: ProcessKind, how?: (victim: OwnProcess) => Promise<void>): Promise<number>;
  /** Asks all of a kind to stop, and waits until they have. */
  dismiss(kind: ProcessKind): Promise<void>;
  /** Processes that were started by those that have ended. */
  orphans(): readonly string[];
  /** Asks all to stop, and waits until they have; gives what is wrong with how they ended. */
  stop(): Promise<string[]>;
}

export interface CrewOptions {
  launch: Launch;
  random: Random;
  workers: number;
  services: number;
  spares: boolean;
}

export async function startCrew({ launch, random, workers, services, spares }: CrewOptions): Promise<Crew> {
  let isOver = false;
  const start = (kind: ProcessKind, own = launch) => {
    if (isOver) throw new Error('the workers and services are ending');
    return startProcess(kind, own);
  };
  const members = [...Array.from({ length: workers }, () => start('worker')), ...Array.from({ length: services }, () => start('service'))];
  const waiting = new Map<ProcessKind, OwnProcess>();
  const all = () => [...members, ...waiting.values()];
  const orphans: string[] = [];
  const added = new Map<OwnProcess, Launch>();
  let requests = 0;
  const end = () => Promise.all(all().map((each) => each.kill()));
  // However this program ends, none of them stays.
  const endWithUs = () => all().forEach((each) => void each.kill());
  process.once('exit', endWithUs);
  try {
    if (spares) for (const kind of ['worker', 'service'] as const) waiting.set(kind, start(kind));
    await Promise.all(all().map(({ ready }) => ready));
  } catch (error) {
    await end();
    process.off('exit', endWithUs);
    throw error;
  }
  return {
    members: () => members,
    service() {
      const ready = members.filter((member) => member.address() !== undefined);
      requests += 1;
      return ready[requests % Math.max(1, ready.length)]?.address();
    },
    async add(kind, settings) {
      const own = { ...launch, environment: { ...launch.environment, ...settings } };
      const member = start(kind, own);
      added.set(member, own);
      members.push(member);
      await member.ready;
    },
    async kill(kind, how = (victim) => victim.kill()) {
      const victim = oneOf(
        random,
        members.filter((member) => member.kind === kind),
      );
      orphans.push(...(await namesBelow(victim.pid)));
      await how(victim);
      const own = added.get(victim);
      const next = waiting.get(kind) ?? start(kind, own);
      if (own) added.set(next, own);
      // The place is taken at once: other calls of this function must not choose the one that has ended.
      members.splice(members.indexOf(victim), 1, next);
      if (spares) waiting.set(kind, start(kind));
      await next.ready;
      return victim.pid;
    },
    async dismiss(kind) {
      for (const each of members.filter((member) => member.kind === kind)) {
        orphans.push(...(await namesBelow(each.pid)));
        members.splice(members.indexOf(each), 1);
        await each.stop();
      }
    },
    orphans: () => orphans,
    async stop() {
      // One that still starts does not listen to signals yet.
      await Promise.allSettled(all().map(({ ready }) => ready));
      for (const { pid } of all()) orphans.push(...(await namesBelow(pid)));
      const ends = await Promise.all(all().map(async (each) => ({ each, code: await each.stop() })));
      members.splice(0);
      waiting.clear();
      return ends.flatMap(({ each: { kind, pid }, code }) =>
        code === 0 ? [] : [`a ${kind} (${pid}) that was asked to stop ended with ${code ?? 'a signal'}`],
      );
    },
    async [Symbol.asyncDispose]() {
      isOver = true;
      await end();
      process.off('exit', endWithUs);
    },
  };
}
