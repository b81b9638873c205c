import { oneOf, type Random } from './random.ts';
import { namesBelow, startProcess, type Launch, type OwnProcess, type ProcessKind } from './processes.ts';
import type { Address } from './way.ts';

/** The workers and services of an installation. Where `spares` is true, one more of each waits to take the place of one that is killed. */
export interface Crew extends AsyncDisposable {
  members(): readonly OwnProcess[];
  /** Where a request goes: the services take turns. Undefined when none is ready. */
  service(): Address | undefined;
  /** One more, with settings of its own; resolves when it is ready. */
  add(kind: ProcessKind, settings: NodeJS.ProcessEnv): Promise<void>;
  /** Kills one, and resolves when another is in its place. Gives the id of the killed process. */
  kill(kind: ProcessKind): Promise<number>;
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
  const start = (kind: ProcessKind) => startProcess(kind, launch);
  const members = [...Array.from({ length: workers }, () => start('worker')), ...Array.from({ length: services }, () => start('service'))];
  const waiting = new Map<ProcessKind, OwnProcess>();
  const all = () => [...members, ...waiting.values()];
  const orphans: string[] = [];
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
      const added = startProcess(kind, { ...launch, environment: { ...launch.environment, ...settings } });
      members.push(added);
      await added.ready;
    },
    async kill(kind) {
      const victim = oneOf(
        random,
        members.filter((member) => member.kind === kind),
      );
      orphans.push(...(await namesBelow(victim.pid)));
      await victim.kill();
      const next = waiting.get(kind) ?? start(kind);
      // The place is taken at once: other calls of this function must not choose the one that has ended.
      members.splice(members.indexOf(victim), 1, next);
      if (spares) waiting.set(kind, start(kind));
      await next.ready;
      return victim.pid;
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
      await end();
      process.off('exit', endWithUs);
    },
  };
}
