import { Agent } from 'node:http';
import { inspect as utilInspect } from 'node:util';
import type { Duplex } from 'node:stream';
import Docker from 'dockerode';
import { failure } from '../../contracts/errors.ts';
import { Bridge } from './bridge.ts';
import type { ContainerSpec } from './container-options.ts';
import { containersOf, create, inspect, move, removeContainer, stop } from './containers.ts';
import { engineStatus, mapped } from './errors.ts';
import { removeVolume, volumeExists, volumesOf } from './volumes.ts';

/** A call to the engine that says nothing for so long has failed. Milliseconds. */
const CALL_TIMEOUT_MS = 60_000;
/** Retries until the supervisor listens: for one second, every 10 ms; ends 0.1 s after either side has closed. */
const BRIDGE_COMMAND = ['socat', '-b', '65536', '-t', '0.1', '-', 'UNIX-CONNECT:/run/longshore/supervisor.sock,retry=100,interval=0.01'];

export interface ContainerState {
  id: string;
  /** `ended` covers everything that has run and runs no more. */
  status: 'created' | 'running' | 'paused' | 'ended';
  exitCode: number;
  outOfMemory: boolean;
  /** ISO 8601; of the newest start. */
  startedAt: string;
  labels: Record<string, string>;
}
export interface OwnedThing {
  name: string;
  sandboxId: string;
  createdAtMs: number;
}

/** What Longshore asks of a Docker engine. All methods may be repeated: a state that is there already is success. Errors are of the table. */
export interface Engine {
  /** Makes the container, or takes over the one that an earlier attempt made. Returns its id. */
  create(spec: ContainerSpec): Promise<string>;
  inspect(container: string): Promise<ContainerState | undefined>;
  /** These three return false when the container is not there or has ended. */
  start(container: string): Promise<boolean>;
  pause(container: string): Promise<boolean>;
  unpause(container: string): Promise<boolean>;
  /** TERM, then KILL after two seconds; done when it has ended or is not there. */
  stop(container: string): Promise<void>;
  removeContainer(container: string): Promise<void>;
  volumeExists(volume: string): Promise<boolean>;
  /** False when a container uses it. */
  removeVolume(volume: string): Promise<boolean>;
  /** A fresh byte stream to the supervisor of a running container; undefined when the container does not run. */
  openBridge(container: string): Promise<Duplex | undefined>;
  containersOf(installation: string): Promise<OwnedThing[]>;
  volumesOf(installation: string): Promise<OwnedThing[]>;
  processorCount(): Promise<number>;
}

/** @param host as in `DOCKER_HOST`: `unix:///path` or `tcp://host:port`; the usual socket when absent. */
export function createEngine(host: string | undefined): Engine {
  // Streams may be silent for hours; calls may not.
  const calls = new Docker({ ...address(host), timeout: CALL_TIMEOUT_MS });
  const streams = new Docker(address(host));
  let processors: Promise<number> | undefined;

  return {
    create: (spec) => create(calls, spec),
    inspect: (container) => inspect(calls, container),
    start: (container) => move(calls, container, 'start', ['running', 'paused']),
    pause: (container) => move(calls, container, 'pause', ['paused']),
    unpause: (container) => move(calls, container, 'unpause', ['running']),
    stop: (container) => stop(calls, container),
    removeContainer: (container) => removeContainer(calls, container),
    volumeExists: (volume) => volumeExists(calls, volume),
    removeVolume: (volume) => removeVolume(calls, volume),
    openBridge: (container) => openBridge(calls, streams, container),
    containersOf: (installation) => containersOf(calls, installation),
    volumesOf: (installation) => volumesOf(calls, installation),
    processorCount() {
      processors ??= mapped('tell its number of processors', async () => Number((await calls.info()).NCPU)).catch((error: unknown) => {
        processors = undefined;
        throw error;
      });
      return processors;
    },
  };
}

/**
 * dockerode renders its options as text for every request, agent and sockets included. A socket opened within an activity refers to the
 * activity's context, so that text would be of everything the worker holds, and take seconds.
 */
class TerseAgent extends Agent {
  [utilInspect.custom](): string {
    return 'Agent';
  }
}

/** All parts are given, so that dockerode takes none from the environment. */
function address(host: string | undefined): Docker.DockerOptions & { agent: Agent } {
  const agent = new TerseAgent({ keepAlive: false });
  const url = new URL(host ?? 'unix:///var/run/docker.sock');
  if (url.protocol === 'unix:') return { protocol: 'http', socketPath: url.pathname, host: undefined, agent };
  if (url.protocol === 'tcp:' || url.protocol === 'http:') return { protocol: 'http', host: url.hostname, port: url.port || '2375', agent };
  throw failure('CONFIG_INVALID', { name: 'DOCKER_HOST', problem: `"${host}" has the scheme ${url.protocol}`, fix: 'Use unix:///path or tcp://host:port' });
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
      // Without `stdin`: with it, dockerode never ends a request that the engine refuses, and its socket stays open for ever.
      const socket = await streams.getExec(exec.id).start({ hijack: true, Detach: false, Tty: false });
      return new Bridge(socket);
    } catch (error) {
      const status = engineStatus(error);
      if (status === 404 || status === 409) return undefined;
      throw error;
    }
  });
}
