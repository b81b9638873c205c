import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection, type WorkflowClient } from '@temporalio/client';
import { pino } from 'pino';
import { connect, type Longshore } from '../../src/client.ts';
import { createDockerSandboxes } from '../../src/sandbox/lifecycle/docker-sandboxes.ts';
import { stopAll } from '../../src/setup/dev-stack.ts';
import { startTemporaryStack, type TemporaryStack } from '../temporary-stack.ts';
import { openCounter, type Counter } from './counter.ts';
import { openSmallDisk, type SmallDisk } from './disks/small-disk.ts';
import { startCrew, type Crew } from './crew.ts';
import { ALL_KINDS } from './kinds/all-kinds.ts';
import type { Launch } from './processes.ts';
import { randomFrom, type Random } from './random.ts';
import { openRecords, type Records } from './records.ts';
import type { Verdict } from './verdict.ts';
import { openWay, type Address, type Way } from './faults/way.ts';
import { writeAgents } from './write-agents.ts';

export interface WorldOptions {
  seed: number;
  /** The program `longshore`. */
  program: string;
  /** Of those that the scenario has, only these are held. */
  kinds?: ReadonlySet<string> | undefined;
  /** A directory for the logs of processes. */
  logs?: string | undefined;
  verdict: Verdict;
  say: (line: string) => void;
  /** Aborted when this program is told to end: what is being opened is ended as soon as it can be. */
  interrupted: AbortSignal;
  /** Kill processes: others wait to take their places. */
  spares: boolean;
  workers: number;
  postgresDiskMb?: number;
  temporal?: Record<string, number>;
}

/** An installation of its own that may be broken: servers, workers and services, and ways to all of them. */
export interface World extends AsyncDisposable {
  /** One for the faults and one for the conversations: each makes the same choices for a seed, whatever the other does meanwhile. */
  random: { faults: Random; kinds: Random };
  /** Of those that a scenario has, only these are held; undefined: all. */
  kinds: ReadonlySet<string> | undefined;
  installation: string;
  /** Over HTTP, through the services that live. */
  longshore: Longshore;
  records: Records;
  workflows: WorkflowClient;
  ways: { postgres: Way; temporal: Way };
  /** Where the servers are, past all ways. */
  servers: Record<'postgres' | 'temporal', () => Address>;
  /** Of a scenario that gives Postgres a disk of its own. */
  postgresDisk?: SmallDisk;
  /** Starts it again if it has ended, and says whether it had. */
  restartPostgres(): Promise<boolean>;
  config: TemporaryStack['config'];
  /** How workers and services are started. */
  launch: Launch;
  crew: Crew;
  counter: Counter;
  /** The directory that all processes have for temporary files. */
  temporary: string;
  /** What it opens is ended with the world, before the servers; that waits until it is open. Nothing is opened when the world ends. */
  owned<T extends AsyncDisposable>(open: () => T | Promise<T>): Promise<T>;
  /** Names of processes that have to be gone at the end. */
  alsoGone(names: Iterable<string>): void;
  gone(): readonly string[];
  /** Removes the sandboxes of plugins, as an operator does, and from the engine what processes that were killed have left, as the reaper of a worker does later. */
  reap(): Promise<void>;
}

/** What the environment may say; all else would lead out of the installation. */
const KEPT = new Set(['LONGSHORE_HOME', 'LONGSHORE_SANDBOX_IMAGE']);
const LONG_AGO_MS = -60_000;
const OF_PLUGINS = `select sandbox_id as id from sandboxes where sandbox_id like 'plugin-%' and state <> 'destroyed'`;

/** Removes variables that name servers, stores and agents of others. */
export function forgetOtherInstallations(environment: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(environment)) {
    if (/^(?:LONGSHORE_|TEMPORAL_|OTEL_|PG)|^(?:DATABASE_URL|NODE_ENV)$/.test(name) && !KEPT.has(name)) delete environment[name];
  }
}

export async function openWorld(options: WorldOptions): Promise<World> {
  const { seed, program, kinds, logs, verdict, say, interrupted, spares, workers, postgresDiskMb, temporal } = options;
  const stops: (() => Promise<void>)[] = [];
  let ending: Promise<void> | undefined;
  const dispose = () => (ending ??= stopAll(stops));
  const owned = async <T extends AsyncDisposable>(open: () => T | Promise<T>): Promise<T> => {
    if (ending || interrupted.aborted) throw new Error('the installation is ending');
    const opening = Promise.resolve(open());
    stops.push(async () => (await opening.catch(() => undefined))?.[Symbol.asyncDispose]());
    return opening;
  };
  const gone: string[] = [];
  const random = { faults: randomFrom(seed), kinds: randomFrom(seed + 1) };
  try {
    const directory = await openDirectory(stops, verdict);
    const disk = postgresDiskMb === undefined ? undefined : await owned(() => openSmallDisk(postgresDiskMb));
    const stack = await owned(() => startTemporaryStack('chaos', {}, say, { postgresIn: disk?.directory, temporal }));
    const records = await owned(() => openRecords(stack.config.DATABASE_URL));
    const connection = await Connection.connect({ address: stack.config.TEMPORAL_ADDRESS });
    stops.push(() => connection.close());
    const counter = await owned(openCounter);
    await writeAgents(directory.agents, ALL_KINDS);
    const servers = { postgres: addressOf(stack.config.DATABASE_URL), temporal: addressOf(`tcp://${stack.config.TEMPORAL_ADDRESS}`) };
    const ways = { postgres: await owned(() => openWay(servers.postgres)), temporal: await owned(() => openWay(servers.temporal)) };
    const apiKey = await createKey(stack, directory.agents);
    const environment = environmentOf(stack, ways, { ...directory, counter });
    const launch = { program, environment, logs, onSurprise: (what: string) => verdict.add({ rule: 'ended', what }) };
    const crew = await owned(() => startCrew({ launch, random: random.faults, workers, services: 2, spares }));
    const service = await owned(() => openWay(() => crew.service()));
    const longshore = await owned(() => connect({ url: `http://127.0.0.1:${service.port}`, apiKey }));
    return {
      random,
      kinds,
      installation: stack.config.LONGSHORE_INSTALLATION,
      longshore,
      records,
      workflows: new Client({ connection }).workflow,
      ways,
      servers,
      ...(disk && { postgresDisk: disk }),
      restartPostgres: () => stack.restartPostgres(),
      config: stack.config,
      launch,
      owned,
      alsoGone: (names) => gone.push(...names),
      gone: () => gone,
      crew,
      counter,
      temporary: directory.temporary,
      async reap() {
        await using sandboxes = createDockerSandboxes({ config: stack.config, store: records.store, log: pino({ level: 'silent' }), reapGraceMs: LONG_AGO_MS });
        for (const { id } of await records.query<{ id: string }>(OF_PLUGINS)) await sandboxes.destroy(id);
        await sandboxes.reap();
      },
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

interface Directory {
  agents: string;
  temporary: string;
}

/** One directory for all files; the servers' data are to be gone from it at the end. */
async function openDirectory(stops: (() => Promise<void>)[], verdict: Verdict): Promise<Directory> {
  const before = process.env['TMPDIR'];
  const root = await mkdtemp(join(tmpdir(), 'longshore-chaos-'));
  await chmod(root, 0o755);
  const own = { agents: join(root, 'agents'), temporary: join(root, 'tmp') };
  for (const directory of Object.values(own)) await mkdir(directory);
  // The temporary stack makes its directory there.
  process.env['TMPDIR'] = root;
  stops.push(async () => {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
    const left = (await readdir(root)).filter((name) => name !== 'agents' && name !== 'tmp');
    for (const name of left) verdict.add({ rule: 'left', what: `file ${join(root, name)}` });
    await rm(root, { recursive: true, force: true });
  });
  return own;
}

async function createKey({ config }: TemporaryStack, agents: string): Promise<string> {
  const { DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: temporalAddress, LONGSHORE_TASK_QUEUE: taskQueue } = config;
  await using direct = await connect({ databaseUrl, temporalAddress, taskQueue, agents });
  return (await direct.keys.create({ name: 'chaos', scopes: ['conversations:read', 'conversations:write', 'approvals:resolve'] })).text;
}

function environmentOf({ environment }: TemporaryStack, ways: World['ways'], own: Directory & { counter: Counter }): NodeJS.ProcessEnv {
  const database = new URL(environment['DATABASE_URL'] ?? '');
  database.host = `127.0.0.1:${ways.postgres.port}`;
  return {
    ...process.env,
    ...environment,
    DATABASE_URL: database.href,
    TEMPORAL_ADDRESS: `127.0.0.1:${ways.temporal.port}`,
    TMPDIR: own.temporary,
    CHAOS_COUNTER: own.counter.url,
    LONGSHORE_AGENTS: own.agents,
    LONGSHORE_PLUGIN_ADDRESSES: '127.0.0.1',
    LONGSHORE_WEBHOOK_ADDRESSES: '127.0.0.1',
    LONGSHORE_WEBHOOK_PAUSES: '100ms',
    LONGSHORE_LOG_LEVEL: 'info',
  };
}

function addressOf(url: string): () => { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return () => ({ host: hostname, port: Number(port) });
}
