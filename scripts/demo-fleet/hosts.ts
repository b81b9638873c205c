import { createEngine } from '../../src/sandbox/engine/docker/engine.ts';
import { startWorker, type WorkerProcess } from '../demo/worker-process.ts';
import type { OwnEngine } from '../own-engine.ts';
import type { TemporaryStack } from '../temporary-stack.ts';

interface HostParts {
  id: string;
  stack: TemporaryStack;
  /** Of this demo; undefined for the engine of the environment. */
  engine: OwnEngine | undefined;
  /** Of its worker, besides those of the stack. */
  settings: Record<string, string>;
}

/** A machine of the fleet, as far as Longshore sees one: an engine and a worker. */
export class Host {
  readonly #parts: HostParts;
  #worker: WorkerProcess | undefined;

  constructor(parts: HostParts) {
    this.#parts = parts;
    parts.stack.alsoStop(async () => this.#worker?.stop());
  }

  get worker(): number {
    return this.#worker?.pid ?? 0;
  }

  async startWorker(): Promise<void> {
    const { id, stack, engine, settings } = this.#parts;
    const onEngine: Record<string, string> = engine === undefined ? {} : { DOCKER_HOST: engine.host };
    // What a worker that is killed leaves among the temporary files is removed with the directory of the stack.
    this.#worker = startWorker({ ...stack.environment, ...settings, ...onEngine, TMPDIR: stack.directory, LONGSHORE_HOST_ID: id });
    await this.#worker.ready;
  }

  /** KILL for its worker and its engine: neither can say goodbye. */
  async die(): Promise<void> {
    await this.#worker?.kill();
    await this.#parts.engine?.end('SIGKILL');
  }

  async comeBack(): Promise<void> {
    await this.#parts.engine?.start({ liveRestore: false });
    await this.startWorker();
  }

  /** Names of containers and volumes of sandboxes, whatever their state. */
  async sandboxes(): Promise<string[]> {
    const { stack, engine } = this.#parts;
    const { DOCKER_HOST: host, LONGSHORE_INSTALLATION: installation } = stack.config;
    const asked = createEngine(engine?.host ?? host);
    const things = [await asked.containersOf(installation), await asked.volumesOf(installation)].flat();
    return things.filter(({ sandboxId }) => sandboxId !== '').map(({ name }) => name);
  }
}
