import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { failure } from '../../../contracts/errors.ts';
import type { Directories, LocalContainer, Started } from './directories.ts';
import { guestUser, makeGuestHome } from './guest-user.ts';
import { identify, killAll, MARK, processStateOf } from './processes.ts';

const PROGRAM = fileURLToPath(new URL('../../supervisor/supervisor.py', import.meta.url));
/** Relative to the directory of the place, because the path of a socket must be short. */
const SOCKET = 'run/s';
const HOME_NAME = '/home/user';
const START_POLLS = 1000;
const POLL_MS = 10;
const CONNECT_ATTEMPTS = 100;

/** Ends all processes of an earlier supervisor of the place and starts a new one, detached: it continues after this process ends. */
export async function startSupervisor(directories: Directories, place: LocalContainer, searchPath: string): Promise<Started> {
  await killAll(place.directory);
  const volume = directories.volumeDirectory(place.volumeName);
  const user = await guestUser(place.volumeName);
  const environment = { PATH: withEsbuild(searchPath), LONGSHORE_CODE: codeDirectory(place) };
  const options = {
    socket: SOCKET,
    methods: methodsSocket(place),
    journal: join(volume, 'execs'),
    home: await makeGuestHome(volume, user),
    uid: String(user.uid),
    gid: String(user.gid),
    'home-name': HOME_NAME,
    environment: JSON.stringify(environment),
  };
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const socket = join(place.directory, SOCKET);
  const said = join(place.directory, 'supervisor.log');
  await rm(socket, { force: true });
  const out = openSync(said, 'w');
  const child = spawn('python3', ['-I', '-S', '-B', PROGRAM, ...words], {
    cwd: place.directory,
    detached: true,
    stdio: ['ignore', out, out],
    env: { PATH: searchPath, [MARK]: place.directory },
  });
  closeSync(out);
  child.unref();
  const ended = Promise.race([once(child, 'exit'), once(child, 'error')]).then(
    () => true,
    () => true,
  );
  for (let poll = 0; poll < START_POLLS && !(await isThere(socket)); poll += 1) {
    if (await Promise.race([ended, sleep(POLL_MS, false)])) break;
  }
  const identity = child.pid === undefined ? undefined : await identify(child.pid);
  if (identity === undefined || !(await isThere(socket))) {
    await killAll(place.directory);
    const problem = (await readFile(said, 'utf8')).trim().split('\n').at(-1) || 'it needs python3 3.9 or newer on PATH, and Linux';
    throw failure('SANDBOX_UNREACHABLE', { sandboxId: place.name, problem: `its supervisor did not start: ${problem}` });
  }
  const started = { ...identity, startedAt: new Date().toISOString() };
  await directories.noteStart(place, started);
  return started;
}

/** A stream to the supervisor; undefined when it does not run. */
export async function openSupervisorStream(started: Started): Promise<Duplex | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    if ((await processStateOf(started)) !== 'running') return undefined;
    // The path through /proc is short, and it cannot lead to another supervisor.
    const socket = connect(`/proc/${started.pid}/cwd/${SOCKET}`);
    try {
      await once(socket, 'connect');
      // It can break before its user listens. Without any listener, that would end the process.
      socket.on('error', () => undefined);
      return socket;
    } catch (error) {
      socket.destroy();
      if (attempt === CONNECT_ATTEMPTS) throw error;
      await sleep(POLL_MS);
    }
  }
}

/** The directory for sockets of code contexts; in a container they are in the container's own /tmp. */
export function codeDirectory(place: LocalContainer): string {
  return join(tmpdir(), `longshore-code-${shortName(place)}`);
}

/** The socket on which code calls tools. Guests use its absolute path, which must be short. */
export function methodsSocket(place: LocalContainer): string {
  return join(tmpdir(), `longshore-tools-${shortName(place)}`);
}

function shortName({ id }: LocalContainer): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 12);
}

/** TypeScript in a sandbox needs esbuild; this adds the one of Longshore's dependencies to the path. */
function withEsbuild(searchPath: string): string {
  const binaries = join(dirname(createRequire(import.meta.url).resolve('esbuild/package.json')), 'bin');
  return `${searchPath}${delimiter}${binaries}`;
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
