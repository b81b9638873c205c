import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import type { CallerOptions } from '../../../src/sandbox/protocol/caller.ts';
import { connectSupervisor } from '../../../src/sandbox/protocol/connect-supervisor.ts';
import { createHandle } from '../../../src/sandbox/handle/create-handle.ts';
import type { SupervisorConnection } from '../../../src/sandbox/protocol/supervisor-connection.ts';
import type { WorkerHandle } from '../../../src/sandbox/api/sandbox.ts';

const PROGRAM = fileURLToPath(new URL('../../../src/sandbox/supervisor/supervisor.py', import.meta.url));
export const silentLog = pino({ level: 'silent' });

/** A supervisor that runs as root on this machine, with its paths in a directory of its own. */
export class LocalSupervisor implements AsyncDisposable {
  readonly directory: string;
  readonly home: string;
  /** A user of no other process, so that neither `kill -1` nor a limit on processes reaches beyond this supervisor. */
  readonly guest = 60_000 + randomInt(5000);
  readonly socket: string;
  readonly sandboxId = 'sbx_local';
  readonly sockets: Socket[] = [];
  process!: ChildProcess;
  connection!: SupervisorConnection;
  handle!: WorkerHandle;
  private readonly connections: SupervisorConnection[] = [];

  static async start(options: { silenceMs?: number } = {}): Promise<LocalSupervisor> {
    const supervisor = new LocalSupervisor();
    await supervisor.boot();
    supervisor.connection = supervisor.connect(options);
    supervisor.handle = createHandle(supervisor.connection, supervisor.sandboxId);
    return supervisor;
  }

  private constructor() {
    this.directory = mkdtempSync(join(tmpdir(), 'longshore-supervisor-'));
    chmodSync(this.directory, 0o755);
    this.home = join(this.directory, 'home');
    this.socket = join(this.directory, 'run', 'supervisor.sock');
    mkdirSync(this.home);
    chownSync(this.home, this.guest, this.guest);
  }

  async boot(): Promise<void> {
    const options = [
      '--socket',
      this.socket,
      '--methods',
      join(this.directory, 'tools', 'tools.sock'),
      '--journal',
      join(this.directory, 'execs'),
      '--home',
      this.home,
      '--uid',
      String(this.guest),
      '--gid',
      String(this.guest),
    ];
    rmSync(this.socket, { force: true });
    this.process = spawn('python3', ['-I', '-S', '-B', PROGRAM, ...options], { stdio: ['ignore', 'inherit', 'inherit'] });
    await until(() => existsSync(this.socket));
  }

  connect(options: Pick<CallerOptions, 'silenceMs' | 'terms'> = {}): SupervisorConnection {
    const connection = connectSupervisor({ openStream: () => this.openStream(), sandboxId: this.sandboxId, log: silentLog, ...options });
    this.connections.push(connection);
    return connection;
  }

  async openStream(): Promise<Socket> {
    const socket = connect(this.socket);
    await once(socket, 'connect');
    this.sockets.push(socket);
    return socket;
  }

  journal(execId: string, file: string): Buffer {
    return readFileSync(join(this.directory, 'execs', execId, file));
  }

  /** Ends the supervisor as the death of its container would: it and all its processes at once. */
  async die(): Promise<void> {
    const tree = [Number(this.process.pid), ...descendants(Number(this.process.pid))];
    for (const pid of tree) tryKill(pid, 'SIGKILL');
    if (this.process.exitCode === null && this.process.signalCode === null) await once(this.process, 'exit');
  }

  signalAll(signal: NodeJS.Signals): void {
    for (const pid of [Number(this.process.pid), ...descendants(Number(this.process.pid))]) tryKill(pid, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.connections) connection.close();
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const left = descendants(Number(this.process.pid));
      const exited = once(this.process, 'exit');
      this.process.kill('SIGTERM');
      await exited;
      for (const pid of left) tryKill(pid, 'SIGKILL');
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(10);
}

export function descendants(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(name);
    if (stat === undefined || stat.state === 'Z') continue;
    children.set(stat.parent, [...(children.get(stat.parent) ?? []), Number(name)]);
  }
  const found: number[] = [];
  for (const waiting = [root]; waiting.length > 0;) {
    const below = children.get(waiting.pop() ?? 0) ?? [];
    found.push(...below);
    waiting.push(...below);
  }
  return found;
}

/** True while a process that is not a zombie has this pid. */
export function isAlive(pid: number): boolean {
  const stat = readStat(String(pid));
  return stat !== undefined && stat.state !== 'Z';
}

function readStat(pid: string): { state: string; parent: number } | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state = '', parent = '0'] = line.slice(line.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}

function tryKill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended by itself.
  }
}
