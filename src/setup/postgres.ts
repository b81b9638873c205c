import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { failure } from '../contracts/errors.ts';
import { isGone, nameProcess } from '../platform/process-identity.ts';
import { isListening } from './ports.ts';
import { ensurePostgresFiles, placeForData, serverUser, type User } from './postgres-files.ts';
import { startServerProcess } from './server-process.ts';

const READY_TIMEOUT_MS = 60_000;
/** User, default password and database of the development server, as in the default of DATABASE_URL. The server listens on loopback only. */
const NAME = 'longshore';

export interface PostgresOptions {
  /** Made and filled when it does not exist. */
  dataDir: string;
  port: number;
  /** The directory of caches, where the server's program is. */
  home: string;
  log: (line: string) => void;
  /** Password of the server's administrator; set when the data directory is made. Default `longshore`, which production refuses. */
  password?: string;
  /** False trades safety against power loss for speed; for tests. Default true. */
  durable?: boolean;
  signal?: AbortSignal | undefined;
}

export interface RunningPostgres {
  /** Gives the rights of an administrator of the server. */
  url: string;
  /** The real directory of the data. It is not the given one when this process is root and the given one is below a private directory. */
  dataDir: string;
  shared: boolean;
  stop: () => Promise<void>;
}

/** Starts the embedded Postgres on its data directory, or shares the one that runs there. */
export async function startPostgres({ dataDir, port, home, log, password = NAME, durable = true, signal }: PostgresOptions): Promise<RunningPostgres> {
  const usual = await serverUser();
  const place = await placeForData(dataDir, usual);
  const user = await ownerOf(place, usual);
  const native = await ensurePostgresFiles({ home, log, user, signal });
  if (!existsSync(join(place, 'PG_VERSION'))) await initialise({ native, place, user, password, signal });
  const unsafe = durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories=', 'max_connections=200', ...unsafe];
  const server = await startServerProcess({
    name: 'Postgres',
    program: join(native, 'bin/postgres'),
    args: ['-D', place, ...settings.flatMap((setting) => ['-c', setting])],
    env: { LC_ALL: 'C' },
    ...(user === undefined ? {} : { runAs: user }),
    stateFile: `${place}.process.json`,
    logFile: `${place}.log`,
    port,
    facts: { port },
    isReady: (facts) => isServing(facts.port, `${place}.log`),
    readyTimeoutMs: READY_TIMEOUT_MS,
    // SIGINT is Postgres's fast shutdown: it ends sessions and writes the data.
    stopSignal: 'SIGINT',
    signal,
  });
  return { url: `postgres://${NAME}:${password}@127.0.0.1:${server.facts.port}/${NAME}`, dataDir: place, shared: server.shared, stop: server.stop };
}

/** The user that owns the data, because Postgres must run as that user. @throws SETUP_FAILED when another user owns them and this process is not root */
async function ownerOf(place: string, usual: User | undefined): Promise<User | undefined> {
  const found = await stat(place).catch(() => undefined);
  if (!found || !existsSync(join(place, 'PG_VERSION'))) return usual;
  if (usual) return found.uid === 0 ? usual : { uid: found.uid, gid: found.gid };
  if (found.uid === process.getuid?.()) return undefined;
  throw failure('SETUP_FAILED', {
    step: 'Starting Postgres',
    problem: `its data in ${place} belong to the user with id ${found.uid}, and this process is ${process.getuid?.() ?? 'another'}`,
    fix: 'Run it as that user or as root, or set LONGSHORE_HOME to another directory, or DATABASE_URL to a Postgres of your own',
  });
}

/** The server listens before it accepts sessions. Without a session, only its log tells when it does. */
async function isServing(port: number, logFile: string): Promise<boolean> {
  return (await isListening(port)) && (await readFile(logFile, 'utf8')).includes('database system is ready to accept connections');
}

interface NewData {
  native: string;
  place: string;
  user: User | undefined;
  password: string;
  signal: AbortSignal | undefined;
}

/** Makes the data directory beside its place and moves it there when it is whole, so that a process that is killed leaves none that looks usable. */
async function initialise({ native, place, user, password, signal }: NewData): Promise<void> {
  await mkdir(dirname(place), { recursive: true });
  await removeUnfinished(place);
  const secrets = await mkdtemp(join(tmpdir(), 'longshore-postgres-'));
  const passwordFile = join(secrets, 'password');
  await writeFile(passwordFile, password, { mode: 0o600 });
  const unfinished = `${place}.${await nameProcess(process.pid)}.unfinished`;
  await mkdir(unfinished);
  if (user) for (const path of [secrets, passwordFile, unfinished]) await chown(path, user.uid, user.gid);
  try {
    const flags = ['--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--no-sync', '--locale=C', '--encoding=UTF8', '--no-instructions'];
    const run = { user, signal };
    await runAs(run, join(native, 'bin/initdb'), ['-D', unfinished, '-U', NAME, ...flags]);
    // The server's single-user mode makes the database, so that no client is needed here.
    await runAs(run, join(native, 'bin/postgres'), ['--single', '-F', '-D', unfinished, 'postgres'], `CREATE DATABASE ${NAME};\n`);
    await rename(unfinished, place);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    // Another process can have made it at the same time.
    if (!existsSync(join(place, 'PG_VERSION'))) throw error;
  } finally {
    await rm(secrets, { recursive: true, force: true });
  }
}

/** Removes what processes that were killed had begun to make for a place. */
async function removeUnfinished(place: string): Promise<void> {
  for (const name of await readdir(dirname(place))) {
    const maker = name.startsWith(`${basename(place)}.`) ? /\.(\d[^.]*)\.unfinished$/.exec(name)?.[1] : undefined;
    // The program that makes it can still be writing.
    if (maker !== undefined && (await isGone(maker))) await rm(join(dirname(place), name), { recursive: true, force: true, maxRetries: 20 });
  }
}

async function runAs({ user, signal }: Pick<NewData, 'user' | 'signal'>, program: string, args: string[], input = ''): Promise<void> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, LC_ALL: 'C' }, ...user });
  const interrupt = () => void child.kill();
  if (signal?.aborted) interrupt();
  signal?.addEventListener('abort', interrupt, { once: true });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const code = await new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (exit) => resolve(exit ?? 'killed'));
  });
  signal?.removeEventListener('abort', interrupt);
  if (code === 0) return;
  throw failure('SETUP_FAILED', {
    step: 'Making the Postgres data directory',
    problem: `${program} ended with ${code}: ${said.trim().split('\n').slice(-4).join(' | ')}`,
    fix: 'Set DATABASE_URL to use a Postgres of your own',
  });
}
