import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import Docker from 'dockerode';
import { pack } from 'tar-stream';
import { attachRaw } from './attach.ts';
import { address } from './engine.ts';
import { engineStatus } from './errors.ts';
import { SECURITY_OPTIONS } from './seccomp/profile.ts';

/** The definition of a plugin's container. */
export interface PluginContainerSpec {
  /** Files of this machine. The image contains only these, at the same paths. */
  files: string[];
  command: string[];
  user: number;
  memoryBytes: number;
  processes: number;
}

/** A running container. */
export interface PluginContainer {
  /** The engine's multiplexed stream of its output. Writes go to its stdin. */
  stream: Duplex;
  /** Splits the stream into stdout and stderr. */
  split: (stdout: NodeJS.WritableStream, stderr: NodeJS.WritableStream) => void;
  /** Its exit code. */
  ended: Promise<number>;
  kill: () => Promise<void>;
}

const CALL_TIMEOUT_MS = 60_000;
/** A label that the reaper of sandboxes does not use. */
const LABEL = 'longshore.plugin-fence';
const REPOSITORY = 'longshore-plugin-fence';
/** A container that was made so long ago and does not run was left by a killed worker. */
const STALE_SECONDS = 60;
const MASKED = ['/etc', '/sys', '/proc/acpi', '/proc/kcore', '/proc/keys', '/proc/latency_stats', '/proc/timer_list', '/proc/sched_debug', '/proc/scsi'];
const PORTS = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/** Makes containers for plugins. @param host as in `DOCKER_HOST`. */
export class PluginContainers {
  readonly #docker: Docker;
  readonly #streams: Docker;
  readonly #images = new Map<string, Promise<string>>();

  constructor(host: string | undefined) {
    this.#docker = new Docker({ ...address(host), timeout: CALL_TIMEOUT_MS });
    this.#streams = new Docker(address(host));
  }

  /** Starts a container. It ends when its stdin is closed; the engine closes it when this process ends. */
  async start(spec: PluginContainerSpec): Promise<PluginContainer> {
    const container = await this.#create(spec);
    try {
      const stream = await attachRaw(this.#streams.getContainer(container.id), { stdin: true });
      const ended = this.#streams.getContainer(container.id).wait({ condition: 'next-exit' }) as Promise<{ StatusCode: number }>;
      // An engine that is gone is the error of the start, or of who waits for the end.
      ended.catch(() => undefined);
      await container.start();
      return {
        stream,
        split: (stdout, stderr) => container.modem.demuxStream(stream, stdout, stderr) as undefined,
        ended: ended.then(({ StatusCode }) => StatusCode),
        kill: () => remove(container),
      };
    } catch (error) {
      await remove(container);
      throw error;
    }
  }

  /** Removes containers of killed workers that do not run. */
  async sweep(): Promise<void> {
    const found = await this.#docker.listContainers({ all: true, filters: { label: [LABEL], status: ['created', 'exited', 'dead'] } });
    const stale = found.filter(({ Created }) => Date.now() / 1_000 - Created > STALE_SECONDS);
    await Promise.all(stale.map(({ Id }) => remove(this.#docker.getContainer(Id))));
  }

  async #create(spec: PluginContainerSpec): Promise<Docker.Container> {
    try {
      return await this.#docker.createContainer(optionsOf(await this.#imageOf(spec.files), spec));
    } catch (error) {
      if (engineStatus(error) !== 404) throw error;
      // The image was removed after it was seen.
      this.#images.clear();
      return this.#docker.createContainer(optionsOf(await this.#imageOf(spec.files), spec));
    }
  }

  #imageOf(files: string[]): Promise<string> {
    const key = files.join('\0');
    const known = this.#images.get(key);
    if (known) return known;
    const made = this.#makeImage(files);
    this.#images.set(key, made);
    made.catch(() => this.#images.delete(key));
    return made;
  }

  /** The image is named after the content of its files, so all workers of an engine with the same Node and Longshore share it. */
  async #makeImage(files: string[]): Promise<string> {
    const contents = await Promise.all(files.map(async (path) => ({ path, bytes: await readFile(path) })));
    const hash = createHash('sha256');
    for (const { path, bytes } of contents) hash.update(`${path}\0${bytes.length}\0`).update(bytes);
    const tag = hash.digest('hex').slice(0, 16);
    const image = `${REPOSITORY}:${tag}`;
    if (await this.#exists(image)) return image;
    const archive = pack();
    // The types of dockerode know only older streams.
    const source = archive as unknown as NodeJS.ReadableStream;
    const importing = this.#docker.importImage(source, { repo: REPOSITORY, tag, changes: `LABEL ${LABEL}=image` });
    archive.entry({ name: 'empty/', type: 'directory', mode: 0o555 });
    for (const { path, bytes } of contents) archive.entry({ name: path.slice(1), mode: 0o555 }, bytes);
    archive.finalize();
    const answer = await importing;
    for await (const _line of answer) continue;
    await this.#removeOthers(image);
    return image;
  }

  async #exists(image: string): Promise<boolean> {
    return this.#docker
      .getImage(image)
      .inspect()
      .then(() => true)
      .catch((error: unknown) => {
        if (engineStatus(error) === 404) return false;
        throw error;
      });
  }

  /** Removes images of other versions. The engine keeps an image that a container still uses. */
  async #removeOthers(image: string): Promise<void> {
    const images = await this.#docker.listImages({ filters: { label: [`${LABEL}=image`] } });
    const others = images.filter(({ RepoTags }) => !(RepoTags ?? []).includes(image));
    await Promise.all(
      others.map(({ Id }) =>
        this.#docker
          .getImage(Id)
          .remove()
          .catch(() => undefined),
      ),
    );
  }
}

async function remove(container: Docker.Container): Promise<void> {
  await container.remove({ force: true }).catch((error: unknown) => {
    // 409: its removal is in progress.
    if (engineStatus(error) !== 404 && engineStatus(error) !== 409) throw error;
  });
}

function optionsOf(image: string, { command, user, memoryBytes, processes }: PluginContainerSpec): Docker.ContainerCreateOptions {
  const hostConfig = {
    AutoRemove: true,
    CapDrop: ['ALL'],
    SecurityOpt: [...SECURITY_OPTIONS],
    ReadonlyRootfs: true,
    NetworkMode: 'none',
    // No shared memory.
    IpcMode: 'none',
    CgroupnsMode: 'private' as const,
    PidsLimit: processes,
    Memory: memoryBytes,
    MemorySwap: memoryBytes,
    NanoCpus: 1e9,
    OomScoreAdj: 500,
    LogConfig: { Type: 'none', Config: {} },
    MaskedPaths: MASKED,
    ReadonlyPaths: PORTS,
  };
  const [program = '', ...args] = command;
  return {
    Image: image,
    Entrypoint: [program],
    Cmd: args,
    User: `${user}:${user}`,
    Hostname: 'plugin',
    Env: ['TZ=UTC', 'LANG=C'],
    WorkingDir: '/empty',
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Labels: { [LABEL]: 'process' },
    HostConfig: hostConfig,
  };
}
