import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { failure } from '../../../../src/contracts/errors.ts';
import { createLogger } from '../../../../src/platform/log.ts';
import { loadConfig } from '../../../../src/platform/config.ts';
import type { ContainerSpec, ContainerState, Engine, OwnedThing } from '../../../../src/sandbox/engine/engine.ts';
import { fenceOf, LABEL } from '../../../../src/sandbox/engine/labels.ts';
import { createDockerSandboxes, type DockerSandboxesOptions } from '../../../../src/sandbox/lifecycle/docker-sandboxes.ts';
import type { Sandboxes } from '../../../../src/sandbox/api/host-sandboxes.ts';
import type { SandboxRow } from '../../../../src/store/sandbox-rows.ts';
import type { Pools } from '../../../../src/store/pools.ts';
import type { Store } from '../../../../src/store/store.ts';
import { FakeFiles } from './fake-backups.ts';
import { FakeDatabase } from './fake-database.ts';
import { Faults, refusable, whileConnected } from './fake-faults.ts';
import { FakeSupervisor, FakeVolume } from './fake-supervisor.ts';

interface Container {
  id: string;
  spec: Pick<ContainerSpec, 'name' | 'labels' | 'runtime'> & { volumeName?: string };
  status: ContainerState['status'];
  supervisor?: FakeSupervisor;
  checkpoints: string[];
  /** Programs that the engine is starting in it. */
  starting: number;
  createdAtMs: number;
}
interface VolumePlace {
  volume: string;
}
/** One worker: its calls take as long as the world says, and once it is dead they never return. */
export interface FakeWorker {
  sandboxes: Sandboxes;
  /** As `kill -9`: nothing that it has begun goes on. */
  die(): void;
  readonly isDead: boolean;
}

/** The engine of a host, a database and a blob store that several workers share; hosts may share a database. What they do happens in an order that `latency` decides. */
export class FakeWorld extends Faults {
  readonly containers = new Map<string, Container>();
  readonly volumes = new Map<string, FakeVolume>();
  readonly rows: Map<string, SandboxRow>;
  readonly hostId: string;
  readonly #database: FakeDatabase;
  readonly #pools: Pools;
  readonly #latency: () => number;
  #ids = 0;
  #workers = 0;
  /** What the workers asked for, in order; to be read when a property fails. */
  readonly trace: string[] = [];

  constructor(latency: () => number, { hostId = 'fake-host', database = new FakeDatabase() } = {}) {
    super();
    this.#latency = latency;
    this.hostId = hostId;
    this.#database = database;
    this.#pools = database.pools();
    this.rows = database.rows;
  }

  worker(): FakeWorker {
    let isDead = false;
    const locks = new Set<() => void>();
    const number = (this.#workers += 1);
    const slowly = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (object, name) => {
          const value: unknown = Reflect.get(object, name);
          if (typeof value === 'object' && value !== null) return slowly(value);
          if (typeof value !== 'function' || PLAIN.has(String(name))) return value;
          return async (...args: unknown[]) => {
            await this.#pass(() => isDead);
            this.trace.push(`${performance.now()} ${number} ${String(name)} ${JSON.stringify(args)}`);
            const outcome = await (value as (...args: unknown[]) => unknown).apply(object, args);
            this.trace.push(`${performance.now()} ${number}   ${String(name)} -> ${JSON.stringify(outcome)?.slice(0, 200)}`);
            await this.#pass(() => isDead);
            return outcome;
          };
        },
      });
    const hold: Store['sandboxes']['hold'] = async (sandboxId, mode, work) => {
      const release = await this.#database.locks.take(sandboxId, mode);
      locks.add(release);
      try {
        return await work(this.rows.get(sandboxId));
      } finally {
        locks.delete(release);
        release();
      }
    };
    const connected = whileConnected(this, {
      sandboxes: { ...this.#database.sandboxes(), hold },
      hosts: this.#database.hosts(),
      backups: this.#database.backups.queries(),
      pools: this.#pools,
      snapshots: this.#database.snapshots,
    });
    const { get, ...blobs } = this.#database.blobs();
    const store = {
      sandboxes: slowly(connected.sandboxes),
      hosts: slowly(connected.hosts),
      backups: slowly(connected.backups),
      pools: slowly(connected.pools),
      snapshots: slowly(connected.snapshots),
      ...OTHER_ROWS,
      fleet: this.#database.fleet(),
      blobs: { ...slowly(blobs), get },
    };
    const sandboxes = createDockerSandboxes({
      config: { ...loadConfig(), LONGSHORE_INSTALLATION: 'fake', LONGSHORE_HOST_ID: this.hostId, LONGSHORE_COPY_CHECKPOINTS: 'no' },
      store: store as unknown as DockerSandboxesOptions['store'],
      log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }),
      engine: slowly(refusable(this, this.#engine())),
      // What works in threads of its own would come to its end at another moment each time.
      compress: () => new PassThrough(),
    });
    return {
      sandboxes,
      die() {
        isDead = true;
        for (const release of locks) release();
      },
      get isDead() {
        return isDead;
      },
    };
  }

  container(name: string): Container | undefined {
    return [...this.containers.values()].find(({ id, spec }) => id === name || spec.name === name);
  }

  /** The engine makes a volume that a container names. */
  #volume(name: string): FakeVolume {
    const found = this.volumes.get(name) ?? new FakeVolume();
    this.volumes.set(name, found);
    return found;
  }

  async #pass(isDead: () => boolean): Promise<void> {
    await new Promise<void>((resolve) => setTimeout(resolve, this.#latency()));
    if (isDead()) await new Promise<never>(() => undefined);
  }

  #engine(): Engine {
    const up = (name: string): Container | undefined => {
      const found = this.container(name);
      return found?.status === 'running' || found?.status === 'paused' ? found : undefined;
    };
    const boot = (container: Container): void => {
      container.supervisor?.end();
      container.status = 'running';
      const volume = this.volumes.get(container.spec.volumeName ?? '');
      if (volume !== undefined) container.supervisor = new FakeSupervisor(volume, `${container.id}-${(this.#ids += 1)}`);
    };
    const finish = (container: Container): void => {
      container.supervisor?.end();
      container.status = 'ended';
    };
    const create = (spec: Container['spec']): { id: string; isNew: boolean } => {
      const known = this.container(spec.name);
      if (known !== undefined && Object.entries(spec.labels).every(([label, value]) => known.spec.labels[label] === value))
        return { id: known.id, isNew: false };
      if (known !== undefined) throw failure('DOCKER_FAILED', { action: `create ${spec.name}`, problem: 'the name is taken' });
      const id = `${this.hostId}-${(this.#ids += 1)}`;
      if (spec.volumeName !== undefined && !this.volumes.has(spec.volumeName)) this.volumes.set(spec.volumeName, new FakeVolume(spec.labels));
      this.containers.set(id, { id, spec, status: 'created', checkpoints: [], starting: 0, createdAtMs: Date.now() });
      return { id, isNew: true };
    };
    const engine = {
      backend: 'fake',
      gvisor: { createHelper: async (spec: Container['spec']) => create(spec).id, program: async () => undefined },
      checkpoints: {
        removeEnded: async (name: string) => {
          const found = this.container(name);
          if (found !== undefined && up(name) === undefined) this.containers.delete(found.id);
          return up(name) === undefined;
        },
        rename: async (name: string, to: string) => {
          const found = this.container(name);
          if (found !== undefined) found.spec = { ...found.spec, name: to };
        },
        make: async (name: string, checkpoint: string) => {
          const found = up(name);
          if (found === undefined) throw failure('DOCKER_FAILED', { action: `checkpoint ${name}`, problem: 'it does not run' });
          found.checkpoints.unshift(checkpoint);
          // Its processes are in the checkpoint: they neither end nor go on.
          found.supervisor?.sleep();
          found.status = 'ended';
        },
        restore: async (name: string, checkpoint: string) => {
          const found = this.container(name);
          if (found === undefined || up(name) !== undefined || !found.checkpoints.includes(checkpoint))
            throw failure('DOCKER_FAILED', { action: `restore ${name}`, problem: 'it runs, or has no such checkpoint' });
          found.status = 'running';
          found.supervisor?.wakeUp();
        },
        list: async (name: string) => [...(this.container(name)?.checkpoints ?? [])],
        remove: async (name: string, checkpoint: string) => {
          const found = this.container(name);
          if (found !== undefined) found.checkpoints = found.checkpoints.filter((one) => one !== checkpoint);
        },
        removeLoosePages: async () => undefined,
        endBridges: async () => undefined,
      },
      copies: {
        createVolume: async (name: string, labels: Record<string, string>) => void this.volumes.set(name, this.volumes.get(name) ?? new FakeVolume(labels)),
        jobs: () => ({
          copy: async ({ volume: from }: VolumePlace, { volume: to }: VolumePlace) => this.#volume(to).take(this.#volume(from).content()),
          pack: ({ volume }: VolumePlace) => Readable.from([Buffer.from(this.#volume(volume).content())]),
          unpack: async (content: Readable, { volume }: VolumePlace) => this.#volume(volume).take(await text(content)),
          bringBack: async (content: Readable, { volume }: { volume: string }) => {
            this.#volume(volume).files = FakeFiles.bringBack(await text(content));
          },
        }),
      },
      create: async (spec: ContainerSpec) => create(spec).id,
      createAttached: async (spec: ContainerSpec) => create(spec),
      inspect: async (name: string) => {
        const found = this.container(name);
        if (found === undefined) return undefined;
        const checkpoint = found.checkpoints[0];
        const rests = (found.status === 'ended' || found.status === 'created') && checkpoint !== undefined;
        const state = rests ? { status: 'hibernated' as const, checkpoint } : { status: found.status };
        const { name: runtime } = found.spec.runtime;
        return { id: found.id, ...state, exitCode: 0, outOfMemory: false, labels: found.spec.labels, runtime, execs: 0 };
      },
      start: async (name: string) => {
        const found = this.container(name);
        if (found === undefined) return false;
        if (up(name) === undefined) boot(found);
        return true;
      },
      pause: async (name: string) => {
        const found = up(name);
        if (found !== undefined) Object.assign(found, { status: 'paused' }).supervisor?.freeze();
        if (found !== undefined && found.starting > 0) await STUCK;
        return found !== undefined;
      },
      unpause: async (name: string) => {
        const found = up(name);
        if (found !== undefined) Object.assign(found, { status: 'running' }).supervisor?.thaw();
        return found !== undefined;
      },
      stop: async (name: string) => {
        const found = up(name);
        if (found !== undefined) finish(found);
      },
      removeContainer: async (name: string) => {
        const found = this.container(name);
        if (found === undefined) return;
        finish(found);
        this.containers.delete(found.id);
      },
      hasQuotas: async () => false,
      volumeExists: async (name: string) => this.volumes.has(name),
      removeVolume: async (name: string) => {
        if ([...this.containers.values()].some(({ spec }) => spec.volumeName === name)) return false;
        this.volumes.delete(name);
        return true;
      },
      openBridge: async (name: string) => {
        const found = this.container(name);
        if (found?.status !== 'running') return undefined;
        found.starting += 1;
        await new Promise<void>((resolve) => setTimeout(resolve, this.#latency()));
        // Docker waits without end for a program that is frozen while it is started.
        if (up(name)?.status === 'paused') await STUCK;
        found.starting -= 1;
        return found.supervisor?.connect();
      },
      containersOf: async () => [...this.containers.values()].map(({ id, spec, createdAtMs }) => ({ id, createdAtMs, ...owned(spec.name, spec.labels) })),
      volumesOf: async () => [...this.volumes].map(([name, { labels, createdAtMs }]) => ({ createdAtMs, ...owned(name, labels) })),
      imageId: async () => 'image',
      newestTemplateImage: async () => undefined,
      processorCount: async () => 2,
      facts: async () => ({ id: 'fake', runtimes: ['runsc'], dataDirectory: '/' }),
    };
    return engine as unknown as Engine;
  }
}

function owned(name: string, labels: Record<string, string>): Omit<OwnedThing, 'createdAtMs'> {
  const role = labels[LABEL.role];
  const snapshotId = labels[LABEL.snapshot];
  const parts = { ...(role !== undefined && { role }), ...(snapshotId !== undefined && { snapshotId }) };
  return { name, sandboxId: labels[LABEL.sandbox] ?? '', fence: fenceOf(labels), ...parts };
}

const OTHER_ROWS = {
  roomQueue: { forget: async () => undefined },
  events: {},
};
const STUCK = new Promise<never>(() => undefined);
/** What answers at once and not by a promise. */
const PLAIN: ReadonlySet<string> = new Set(['jobs']);
