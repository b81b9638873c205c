import { createEngine } from '../../../src/sandbox/engine/docker/engine.ts';
import type { OwnedThing } from '../../../src/sandbox/engine/engine.ts';
import { createOwnEngine, type OwnEngine } from '../../own-engine.ts';
import { namesBelow, startProcess, type OwnProcess } from '../processes.ts';
import { openWay, type Way } from '../faults/way.ts';
import type { World } from '../world.ts';

/** The shortest that the setting takes. */
export const LOST_AFTER_MS = 30_000;

export type Servers = 'Postgres' | 'Temporal' | 'both';

/** A host of the installation, as far as the others see one: an engine, a worker, and the network between it and the servers. */
export interface ChaosHost {
  id: string;
  /** Its connections to Postgres and Temporal, in both directions. */
  network: Record<'cut' | 'silence', (of: Servers) => void> & { heal(): void };
  /** KILL for its worker and its engine, whose containers run on. Absent for the host with the engine of this machine, which is not killed. */
  die?: () => Promise<void>;
  /** `survivors`: whether the engine leaves alone what has run on without it. */
  comeBack(survivors: boolean): Promise<void>;
  /** Containers of sandboxes that run, whether they still may or not. */
  containers(): Promise<OwnedThing[]>;
  /** Asks its worker to stop; gives what is wrong with how it ended. */
  stop(): Promise<string[]>;
}

export interface ChaosHosts {
  all: readonly [ChaosHost, ChaosHost];
  /** Processes that were started by workers that have ended. */
  orphans(): readonly string[];
}

/** Two hosts, one with the engine of this machine and one with its own, until the world ends. */
export async function openHosts(world: World): Promise<ChaosHosts> {
  const engine = await world.owned(() => createOwnEngine());
  await engine.start({ liveRestore: false });
  await engine.takeImage(world.config.LONGSHORE_SANDBOX_IMAGE);
  const orphans: string[] = [];
  const [first, second] = await Promise.all([openHost(world, { id: 'first', orphans }), openHost(world, { id: 'second', orphans, engine })]);
  return { all: [first, second], orphans: () => orphans };
}

export interface HostOptions {
  id: string;
  /** Gets the processes that were started by workers that have ended. */
  orphans: string[];
  /** Default: that of this machine. */
  engine?: OwnEngine;
  /** Further settings of its worker. */
  settings?: NodeJS.ProcessEnv;
}

/** A host until the world ends. */
export async function openHost(world: World, { id, orphans, engine, settings }: HostOptions): Promise<ChaosHost> {
  const ways = [await world.owned(() => openWay(world.servers.postgres)), await world.owned(() => openWay(world.servers.temporal))] as const;
  const launch = { ...world.launch, environment: { ...world.launch.environment, ...environmentOf(world, id, ways, engine), ...settings } };
  let worker: OwnProcess = startProcess('worker', launch);
  await world.owned(() => ({ [Symbol.asyncDispose]: () => worker.kill() }));
  await worker.ready;
  const note = async () => orphans.push(...(await namesBelow(worker.pid)));
  const [postgres, temporal] = ways;
  const waysTo = (of: Servers) => (of === 'both' ? ways : [of === 'Postgres' ? postgres : temporal]);
  const asked = createEngine(engine?.host ?? world.config.DOCKER_HOST);
  return {
    id,
    network: {
      cut: (of) => waysTo(of).forEach((way) => way.cut()),
      silence: (of) => waysTo(of).forEach((way) => way.silence()),
      heal: () => ways.forEach((way) => way.heal()),
    },
    ...(engine && {
      async die() {
        await note();
        await worker.kill();
        await engine.end('SIGKILL');
      },
    }),
    async comeBack(survivors) {
      await engine?.start({ liveRestore: survivors });
      worker = startProcess('worker', launch);
      await worker.ready;
    },
    containers: async () => (await asked.containersOf(world.installation)).filter(({ sandboxId, isRunning }) => sandboxId !== '' && isRunning === true),
    async stop() {
      await note();
      const code = await worker.stop();
      const left = (await asked.containersOf(world.installation)).map(({ name }) => `container ${name} of host "${id}"`);
      const volumes = (await asked.volumesOf(world.installation)).map(({ name }) => `volume ${name} of host "${id}"`);
      return [...left, ...volumes, ...(code === 0 ? [] : [`the worker of host "${id}" that was asked to stop ended with ${code ?? 'a signal'}`])];
    },
  };
}

function environmentOf(world: World, id: string, [postgres, temporal]: readonly [Way, Way], engine?: OwnEngine): NodeJS.ProcessEnv {
  const database = new URL(world.config.DATABASE_URL);
  database.host = `127.0.0.1:${postgres.port}`;
  return {
    DATABASE_URL: database.href,
    TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}`,
    LONGSHORE_HOST_ID: id,
    LONGSHORE_HOST_LOST_AFTER: `${LOST_AFTER_MS / 1000}s`,
    ...(engine && { DOCKER_HOST: engine.host }),
  };
}
