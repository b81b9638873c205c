import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { failure } from '../contracts/errors.ts';
import { isGone, nameProcess } from '../platform/process-identity.ts';
import { withLock } from '../platform/lock.ts';
import { mustRun, runCommand } from '../platform/run-command.ts';
import { endProcess } from './server-process.ts';
import { hasProgram, installPackages } from './system-packages.ts';

const START_TIMEOUT_MS = 60_000;
const POLL_MS = 250;
const ENGINE_PID_FILE = '/var/run/docker.pid';

export interface EngineOptions {
  logFile: string;
  log: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/** Makes sure that a Docker engine answers. A running engine is not changed. As root on Linux, a missing engine is installed and started. */
export async function ensureDockerEngine(options: EngineOptions): Promise<'running' | 'started'> {
  if (!(await hasProgram('docker'))) await installPackages(['docker.io'], options.log, options.signal);
  const answer = await askEngine();
  if (answer.version !== undefined) return 'running';
  if (/permission denied/i.test(answer.problem)) {
    throw engineFailure(answer.problem, 'Add yourself to the group docker (sudo usermod -aG docker $USER, then log in again)');
  }
  if (process.env['DOCKER_HOST'])
    throw engineFailure(`no engine answers at DOCKER_HOST=${process.env['DOCKER_HOST']}`, 'Start that engine or unset DOCKER_HOST');
  if (process.platform !== 'linux') throw engineFailure(answer.problem, 'Start Docker Desktop, or the engine of your choice, and run this again');
  if (process.getuid?.() !== 0) throw engineFailure(answer.problem, 'Start it, for example: sudo systemctl start docker');
  if (!(await hasProgram('dockerd'))) await installPackages(['docker.io'], options.log, options.signal);
  return await withLock(`${options.logFile}.lock`, () => startUnlessRunning(options), options.signal);
}

/** Of two engines that are started at the same time, one ends at once, and its start would have failed. */
async function startUnlessRunning(options: EngineOptions): Promise<'running' | 'started'> {
  if ((await askEngine()).version !== undefined) return 'running';
  await startEngine(options);
  return 'started';
}

/** The version of the engine that answers, or why no engine answers. */
export async function askEngine(): Promise<{ version?: string; problem: string }> {
  const outcome = await runCommand('docker', ['version', '--format', '{{.Server.Version}}'], { timeoutMs: 20_000 });
  if (outcome.code === 0) return { version: outcome.stdout.trim(), problem: '' };
  return { problem: (outcome.stderr.trim() || outcome.stdout.trim() || 'no answer').split('\n').at(-1) ?? '' };
}

async function startEngine({ logFile, log, signal }: EngineOptions): Promise<void> {
  if (existsSync('/run/systemd/system')) {
    log('starting the Docker engine: systemctl start docker');
    const fix = 'See: journalctl -u docker';
    await mustRun('Starting the Docker engine', 'systemctl', ['start', 'docker'], { fix });
    return;
  }
  log(`starting the Docker engine (dockerd); it keeps running afterwards, its log is ${logFile}`);
  await mkdir(dirname(logFile), { recursive: true });
  const file = await open(logFile, 'w');
  // Detached: it leads its own session and continues after this process ends.
  const child = spawn('dockerd', [], { detached: true, stdio: ['ignore', file.fd, file.fd] });
  let ended = false;
  child.once('exit', () => (ended = true));
  child.once('error', () => (ended = true));
  child.unref();
  await file.close();
  const deadline = Date.now() + START_TIMEOUT_MS;
  while ((await askEngine()).version === undefined) {
    if (ended || Date.now() > deadline) throw await explainEngineLog(logFile);
    await sleep(POLL_MS, undefined, signal && { signal });
  }
  await writeFile(markOf(logFile), await nameProcess(await enginePid()));
}

/** The file that names the process of the engine that Longshore started. */
function markOf(logFile: string): string {
  return `${logFile}.started`;
}

/**
 * Restarts the engine, so that it reads its settings, if Longshore started it and no container runs. Otherwise the operator has to restart it: returns
 * `theirs` for an engine that Longshore did not start, `busy` for one with running containers.
 */
export async function restartOwnEngine(options: EngineOptions): Promise<'restarted' | 'theirs' | 'busy'> {
  const pid = await enginePid();
  const ours = (await readFile(markOf(options.logFile), 'utf8').catch(() => '')).trim();
  // A mark of a version before is only the id.
  const isOurs = [String(pid), await nameProcess(pid)].includes(ours) && !(await isGone(ours));
  if (process.env['DOCKER_HOST'] || !isOurs) return 'theirs';
  if ((await runCommand('docker', ['ps', '--quiet'])).stdout.trim() !== '') return 'busy';
  await endProcess(pid, 'SIGTERM');
  await startEngine(options);
  return 'restarted';
}

/** 0 when there is none. */
async function enginePid(): Promise<number> {
  return Number(await readFile(ENGINE_PID_FILE, 'utf8').catch(() => ''));
}

async function explainEngineLog(logFile: string): Promise<Error> {
  const lines = (await readFile(logFile, 'utf8').catch(() => '')).trim().split('\n');
  return engineFailure(lines.slice(-3).join(' | '), adviceFor(lines.join('\n'), logFile));
}

/** What the user can do about an engine that did not start, according to its log. */
export function adviceFor(engineLog: string, logFile: string): string {
  if (/error initializing graphdriver|driver not supported|failed to mount overlay/i.test(engineLog)) {
    return 'The kernel or file system here supports no overlay storage. Put "storage-driver": "vfs" (slow, works everywhere) into /etc/docker/daemon.json, or put /var/lib/docker on ext4 or xfs';
  }
  if (/iptables|nf_tables/i.test(engineLog)) {
    return 'The engine may not change the firewall here. Sandboxes need no network: put "iptables": false, "bridge": "none" into /etc/docker/daemon.json';
  }
  if (/cgroup/i.test(engineLog)) return 'No cgroups are mounted here; a container that runs an engine has to be privileged';
  return `The whole log: ${logFile}`;
}

function engineFailure(problem: string, fix: string): Error {
  return failure('SETUP_FAILED', { step: 'Reaching the Docker engine', problem, fix });
}
