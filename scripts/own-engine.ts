import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RUNTIME_ARGUMENTS } from '../src/setup/gvisor.ts';
import { mustRun, runCommand } from '../src/platform/run-command.ts';

/** `DOCKERD` names another engine than the one on PATH. */
export const ENGINE_PROGRAM = process.env['DOCKERD'] ?? 'dockerd';
/** Arguments of `unshare`, before a program and its arguments. */
const IN_OWN_NETWORK = ['--net', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'];
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 100;

/** A Docker engine that a script may restart and kill, with everything of its own in one temporary directory; disposing ends and removes it. */
export interface OwnEngine extends AsyncDisposable {
  /** As in `DOCKER_HOST`. */
  host: string;
  /** Returns when it answers. */
  start(settings: { liveRestore: boolean }): Promise<void>;
  /** Returns when it has ended, and its containerd as well. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  version(): Promise<string>;
  /** Of the engine that runs, whose network namespace has a loopback interface only. */
  processId(): number;
  /** Copies an image from the engine of the environment. */
  takeImage(image: string): Promise<void>;
}

/** Why this machine cannot have an engine of a script; undefined when it can. */
export async function whyNoOwnEngine(): Promise<string | undefined> {
  if (process.geteuid?.() !== 0) return 'only root can start a second engine';
  if ((await runCommand('unshare', [...IN_OWN_NETWORK, 'true'])).code !== 0) {
    return 'a second engine cannot have a network namespace of its own (unshare --net, ip link set lo up)';
  }
  return (await runCommand(ENGINE_PROGRAM, ['--version'])).code === 0 ? undefined : `there is no ${ENGINE_PROGRAM}`;
}

interface Place {
  directory: string;
  data: string;
  program: string;
  runsc: string | undefined;
  socket: string;
  programs: string | undefined;
}

export interface OwnEngineOptions {
  program?: string;
  runsc?: string | undefined;
  /** Where images, containers and volumes are, in place of its temporary directory. */
  data?: string;
  /** A directory in which it looks for the programs that it runs, before all others. */
  programs?: string;
}

export async function createOwnEngine({ program = ENGINE_PROGRAM, runsc, data, programs }: OwnEngineOptions = {}): Promise<OwnEngine> {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-engine-'));
  const place: Place = { program, runsc, programs, directory, data: data ?? join(directory, 'data'), socket: join(directory, 'docker.sock') };
  const host = `unix://${place.socket}`;
  const disposed = new AbortController();
  const { signal } = disposed;
  let running: ChildProcess | undefined;
  let hasRun = false;
  /** What is being done, which has to end before the engine does. */
  let work: Promise<unknown> = Promise.resolve();

  const end = async (how: 'SIGTERM' | 'SIGKILL') => {
    if (isAlive(running)) {
      const ended = once(running, 'exit');
      running.kill(how);
      await ended;
    }
    running = undefined;
    await endContainerd(place);
  };
  const boot = async (liveRestore: boolean, until?: AbortSignal) => {
    running = await launch(place, liveRestore);
    await untilReady(host, running, place, until);
    hasRun = true;
  };
  const unlessDisposed = async (begin: () => Promise<void>) => {
    signal.throwIfAborted();
    const doing = begin();
    work = doing.catch(() => undefined);
    await doing;
  };
  return {
    host,
    start: ({ liveRestore }) => unlessDisposed(() => boot(liveRestore, signal)),
    end,
    version: async () => (await docker(host, 'version', '--format', '{{.Server.Version}}')).trim(),
    processId() {
      if (running?.pid === undefined) throw new Error('the engine does not run');
      return running.pid;
    },
    takeImage: (image) => unlessDisposed(() => copyImage(image, place, host, signal)),
    async [Symbol.asyncDispose]() {
      disposed.abort();
      await work;
      try {
        // Ends what a killed engine has left running, and unmounts it.
        if (hasRun && !isAlive(running)) await boot(false);
        if (hasRun) await removeContainers(host);
      } finally {
        await end('SIGTERM');
        // Engines mount their directory on itself, networks of containers that are being made when they end, and that of the host where something was built.
        await unmountBelow(directory);
        await unmountBelow(place.data);
        await rm(directory, { recursive: true, force: true });
      }
    },
  };
}

/** Of mounts in mounts, the inner ones first. */
async function unmountBelow(directory: string): Promise<void> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
  for (const mount of mounts.toReversed()) if (mount === directory || mount.startsWith(`${directory}/`)) await runCommand('umount', [mount]);
}

async function copyImage(image: string, { directory }: Place, host: string, signal: AbortSignal): Promise<void> {
  const file = join(directory, 'image.tar');
  await mustRun('Copying the sandbox image', 'docker', ['save', '--output', file, image], { fix: 'Run: npm run setup', signal });
  await mustRun('Loading the sandbox image', 'docker', ['--host', host, 'load', '--input', file], { fix: 'See what it says', signal });
  await rm(file);
}

async function removeContainers(host: string): Promise<void> {
  const containers = (await docker(host, 'ps', '--all', '--quiet')).split('\n').filter(Boolean);
  if (containers.length > 0) await docker(host, 'rm', '--force', ...containers);
}

function isAlive(child: ChildProcess | undefined): child is ChildProcess {
  return child?.exitCode === null && child.signalCode === null;
}

function docker(host: string, ...args: string[]): Promise<string> {
  return mustRun(`docker ${args[0]} on the engine of this script`, 'docker', ['--host', host, ...args], { fix: 'See what it says' });
}

async function launch({ directory, data, program, programs, runsc, socket }: Place, liveRestore: boolean): Promise<ChildProcess> {
  const settings = {
    experimental: true,
    bridge: 'none',
    iptables: false,
    'live-restore': liveRestore,
    'data-root': data,
    'exec-root': join(directory, 'exec'),
    pidfile: join(directory, 'pid'),
    ...(runsc !== undefined && { runtimes: { runsc: { path: runsc, runtimeArgs: RUNTIME_ARGUMENTS } } }),
  };
  const file = join(directory, 'daemon.json');
  await writeFile(file, JSON.stringify(settings));
  const log = await open(join(directory, 'log'), 'a');
  try {
    const first = programs ?? (program.includes('/') ? dirname(program) : undefined);
    const env = first === undefined ? process.env : { ...process.env, PATH: `${first}:${process.env['PATH']}` };
    // An engine without a bridge removes `docker0`, that of another engine too, so this one has a network namespace of its own. In a group of its own: Ctrl-C is for
    // the script, which ends the engine.
    const child = spawn('unshare', [...IN_OWN_NETWORK, program, '--config-file', file, '--host', `unix://${socket}`], {
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      env,
    });
    await once(child, 'spawn');
    return child;
  } finally {
    await log.close();
  }
}

async function untilReady(host: string, child: ChildProcess, { directory }: Place, until?: AbortSignal): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while ((await runCommand('docker', ['--host', host, 'version'])).code !== 0) {
    until?.throwIfAborted();
    if (!isAlive(child) || performance.now() > deadline) {
      const said = (await readFile(join(directory, 'log'), 'utf8')).trimEnd().split('\n').slice(-3).join(' | ');
      throw new Error(`the engine did not start: ${said}`);
    }
    await sleep(POLL_MS);
  }
}

/**
 * A containerd that was left, and the file with its process id: the next engine trusts the file while a process with that id can be signalled, and waits
 * for it until it fails, even if the process is ending or has not been reaped. The shims of the containers are not its children, and stay.
 */
async function endContainerd({ directory }: Place): Promise<void> {
  const note = join(directory, 'exec/containerd/containerd.pid');
  const pid = Number(await readFile(note, 'utf8').catch(() => ''));
  // The command line of a process that has died is empty.
  const runs = async () => pid > 0 && (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).includes(directory);
  for (const deadline = performance.now() + START_TIMEOUT_MS; await runs(); await sleep(POLL_MS)) {
    if (performance.now() > deadline) throw new Error(`the engine's containerd, process ${pid}, does not end`);
    process.kill(pid, 'SIGTERM');
  }
  await rm(note, { force: true });
}
