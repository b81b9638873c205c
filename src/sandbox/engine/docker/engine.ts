import type { Engine, EngineFacts, GvisorProgram } from '../engine.ts';
import { Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import { inspect as utilInspect } from 'node:util';
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import Docker from 'dockerode';
import { failure } from '../../../contracts/errors.ts';
import { readProgram } from '../../../platform/read-program.ts';
import { Bridge } from './bridge.ts';
import { containerOptions, helperOptions } from './container-options.ts';
import { checkpoint, checkpointsOf, removeCheckpoint, removeLoosePages, restoreCheckpoint } from './checkpoints.ts';
import { containersOf, create, inspect, move, removeContainer, removeEnded, stopContainer } from './containers.ts';
import { attachToContainer } from './attach.ts';
import { createCopyJobs } from './copy-jobs.ts';
import { diskSpaceOf } from '../disk-space.ts';
import { engineStatus, ignoring, mapped } from './errors.ts';
import { askGvisorProgram } from './gvisor-program.ts';
import { imageId, newestTemplateImage } from './images.ts';
import { usageOf, volumeSizes } from './usage.ts';
import { createVolume, hasQuotas, removeVolume, volumeExists, volumesOf } from './volumes.ts';

/** A call to the engine without an answer for so long has failed. Milliseconds. */
const CALL_TIMEOUT_MS = 60_000;
/** The same for calls that write or read the memory of a sandbox. */
const MEMORY_TIMEOUT_MS = 300_000;
/** Between two looks whether a program has begun. */
const LONGEST_LOOK_MS = 20;
/** Retries every 10 ms for one second until the supervisor listens. Ends 0.1 s after either side has closed. */
const BRIDGE_COMMAND = ['socat', '-b', '65536', '-t', '0.1', '-', 'UNIX-CONNECT:/run/longshore/supervisor.sock,retry=100,interval=0.01'];

const STANDARD_SOCKET = 'unix:///var/run/docker.sock';

const END_BRIDGES = ['sh', '-c', readProgram(import.meta.url, 'programs/end-bridges.sh')];

/** @param host as in `DOCKER_HOST`: `unix:///path` or `tcp://host:port`. Default: the standard socket. */
export function createEngine(host: string | undefined): Engine {
  // Streams may be silent for hours, so they have no timeout.
  const calls = new Docker({ ...address(host), timeout: CALL_TIMEOUT_MS });
  const slow = new Docker({ ...address(host), timeout: MEMORY_TIMEOUT_MS });
  const streams = new Docker(address(host));
  const dataDirectory = once(async () => (await engineFacts(calls)).dataDirectory);

  return {
    backend: 'docker',
    gvisor: {
      createHelper: async (spec) => (await create(calls, spec, helperOptions(spec))).id,
      program: () => gvisorProgram(calls, host),
    },
    checkpoints: {
      make: (container, name, then = 'end') => checkpoint(slow, container, name, then),
      restore: (container, name) => restoreCheckpoint(slow, container, name),
      list: (container) => checkpointsOf(calls, container),
      remove: (container, name) => removeCheckpoint(calls, container, name),
      removeLoosePages: (container) => removeLoosePages(calls, container),
      endBridges: (container) => runInside(calls, container, END_BRIDGES),
      removeEnded: (container) => removeEnded(calls, container),
      rename: (container, name) => mapped(`rename container ${container}`, () => calls.getContainer(container).rename({ name })),
    },
    copies: {
      createVolume: (volume, labels, limitMb) => createVolume(calls, volume, labels, limitMb),
      jobs: (installation, image) =>
        createCopyJobs({ docker: streams, installation, image, dataDirectory: async () => (await engineFacts(calls)).dataDirectory }),
    },
    create: async (spec) => (await create(calls, spec, containerOptions(spec))).id,
    async createAttached(spec) {
      const { id, isNew } = await create(calls, spec, containerOptions(spec));
      const stream = isNew && spec.runtime.name === 'runc' ? await attachToContainer(streams, id) : undefined;
      return { id, isNew, ...(stream && { stream }) };
    },
    inspect: (container) => inspect(calls, container),
    start: (container) => move(calls, container, 'start', ['running', 'paused']),
    pause: (container) => move(calls, container, 'pause', ['paused']),
    unpause: (container) => move(calls, container, 'unpause', ['running']),
    stop: (container) => stopContainer(calls, container),
    removeContainer: (container) => removeContainer(calls, container),
    hasQuotas: once(() => hasQuotas(calls)),
    volumeExists: (volume) => volumeExists(calls, volume),
    removeVolume: (volume) => removeVolume(calls, volume),
    openBridge: (container) => openBridge(calls, streams, container),
    containersOf: (installation) => containersOf(calls, installation),
    volumesOf: (installation) => volumesOf(calls, installation),
    imageId: (image) => imageId(calls, image),
    newestTemplateImage: (template) => newestTemplateImage(calls, template),
    processorCount: once(() => mapped('report its number of processors', async () => Number((await calls.info()).NCPU))),
    facts: () => engineFacts(calls),
    // The directory of an engine on another machine may exist here, too.
    ...(new URL(host ?? STANDARD_SOCKET).protocol === 'unix:' && { disk: async () => diskSpaceOf(await dataDirectory()) }),
    usage: (container) => usageOf(calls, container),
    volumeSizes: (installation) => volumeSizes(calls, installation),
  };
}

/** Caches an answer that does not change. A failure is not cached. */
function once<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let answer: Promise<Answer> | undefined;
  return () =>
    (answer ??= ask().catch((error: unknown) => {
      answer = undefined;
      throw error;
    }));
}

async function engineFacts(docker: Docker): Promise<EngineFacts> {
  return mapped('report its settings', async () => {
    const info = await docker.info();
    const seccomp = ((info.SecurityOptions ?? []) as string[]).some((option) => option.split(',').includes('name=seccomp'));
    const machine = { ...(info.MemTotal > 0 && { memoryBytes: Number(info.MemTotal) }), ...(info.NCPU > 0 && { cpus: Number(info.NCPU) }) };
    return { id: String(info.ID), runtimes: Object.keys(info.Runtimes ?? {}), dataDirectory: String(info.DockerRootDir), seccomp, ...machine };
  });
}

async function gvisorProgram(docker: Docker, host: string | undefined): Promise<GvisorProgram | undefined> {
  const { Runtimes } = await mapped('report its runtimes', () => docker.info() as Promise<{ Runtimes?: Record<string, { path?: string }> }>);
  const path = Runtimes?.['runsc']?.path;
  return path === undefined || path === '' ? undefined : askGvisorProgram(path, new URL(host ?? STANDARD_SOCKET).protocol === 'unix:');
}

/** Node's `Agent` has this method; its types do not have it. */
interface AddsRequests {
  addRequest(request: ClientRequest, options: object): void;
}
const NODES_OWN = Agent.prototype as unknown as AddsRequests;

class EngineAgent extends Agent implements AddsRequests {
  /** An answer that is cut in the middle, or ends in a timeout there, is an error of its request: dockerode hears of no other, and would wait without end. */
  addRequest(request: ClientRequest, options: object): void {
    request.once('response', (response: IncomingMessage) => response.once('error', (error) => request.emit('error', error)));
    NODES_OWN.addRequest.call(this, request, options);
  }

  /**
   * dockerode formats its options as text for every request, including the agent and its sockets. A socket that was opened in an activity refers to the
   * activity's context, so the text would contain all objects of the worker, and formatting would take seconds.
   */
  [utilInspect.custom](): string {
    return 'Agent';
  }
}

/** Gives all parts of the address, so that dockerode reads none from the environment. */
export function address(host: string | undefined): Docker.DockerOptions & { agent: Agent } {
  const agent = new EngineAgent({ keepAlive: false });
  const fix = 'Use unix:///path or tcp://host:port';
  if (host !== undefined && !URL.canParse(host)) throw failure('CONFIG_INVALID', { name: 'DOCKER_HOST', problem: `"${host}" is no address`, fix });
  const url = new URL(host ?? STANDARD_SOCKET);
  if (url.protocol === 'unix:') return { protocol: 'http', socketPath: url.pathname, host: undefined, agent };
  if (url.protocol === 'tcp:' || url.protocol === 'http:') return { protocol: 'http', host: url.hostname, port: url.port || '2375', agent };
  throw failure('CONFIG_INVALID', { name: 'DOCKER_HOST', problem: `"${host}" has the scheme ${url.protocol}`, fix });
}

/** Runs a program as root and waits for its end. Succeeds without effect when the container does not run. */
async function runInside(docker: Docker, container: string, command: string[]): Promise<void> {
  await ignoring([404, 409], `run a command in container ${container}`, async () => {
    const exec = await docker.getContainer(container).exec({ Cmd: command, User: '0:0', WorkingDir: '/', AttachStdout: true, AttachStderr: true, Tty: false });
    const output = await exec.start({ Detach: false, Tty: false });
    output.resume();
    await finished(output).catch(() => undefined);
  });
}

/** The engine answers before it starts the program. */
async function untilBegun(exec: Docker.Exec): Promise<void> {
  for (let delay = 1; ; delay = Math.min(delay * 2, LONGEST_LOOK_MS)) {
    const { Pid, ExitCode } = await exec.inspect();
    if (Pid > 0 || typeof ExitCode === 'number') return;
    await sleep(delay);
  }
}

async function openBridge(calls: Docker, streams: Docker, container: string): Promise<Duplex | undefined> {
  return mapped(`reach the supervisor of container ${container}`, async () => {
    try {
      const exec = await calls.getContainer(container).exec({
        Cmd: BRIDGE_COMMAND,
        User: '0:0',
        WorkingDir: '/',
        AttachStdin: true,
        AttachStdout: true,
        AttachStderr: true,
        Tty: false,
      });
      // Without the option `stdin`: with it, dockerode never ends a request that the engine refuses, and the socket stays open for ever.
      const socket = await streams.getExec(exec.id).start({ hijack: true, Detach: false, Tty: false });
      // Nothing is read before the bridge listens, so that what the engine says about a failed start is not missed.
      const ignore = (): void => undefined;
      socket.on('error', ignore);
      try {
        await untilBegun(exec);
      } catch (error) {
        socket.destroy();
        throw error;
      }
      if (socket.destroyed) throw new Error('the engine closed the stream');
      const bridge = new Bridge(socket);
      socket.off('error', ignore);
      return bridge;
    } catch (error) {
      const status = engineStatus(error);
      if (status === 404 || status === 409) return undefined;
      throw error;
    }
  });
}
