import { readdir, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { runCommand } from '../../src/platform/run-command.ts';

/** Whose things are counted. */
export interface Counted {
  installation: string;
  databaseUrl: string;
  /** Directories of which every file counts. */
  directories: string[];
}

const SETTLE_MS = 30_000;
const POLL_MS = 25;
const RECORDS = [
  `select 'sandbox ' || sandbox_id || ' ' || state as line from sandboxes`,
  `select 'snapshot ' || snapshot_id as line from snapshots`,
  `select 'blob ' || blob_id as line from blobs`,
];
/** What comes and goes by itself. */
const PASSING = new Set(['Timeout', 'Immediate', 'FSReqPromise', 'FSReqCallback', 'CloseReq', 'TickObject', 'GetAddrInfoReqWrap', 'ProcessWrap', 'PipeWrap']);

/** Everything there is of an installation, on the engine, in the database, on disk and in this process; one line each. */
export async function takeCensus({ installation, databaseUrl, directories }: Counted): Promise<string[]> {
  const [engine, records, files, sockets] = await Promise.all([
    engineThings(installation),
    recordsOf(databaseUrl),
    Promise.all(directories.map(filesOf)),
    openSockets(),
  ]);
  return [...engine, ...records, ...files.flat(), ...sockets].toSorted();
}

/** Waits until everything is as it was before; a closed socket takes a moment. */
export async function expectNothingLeft(counted: Counted, before: string[], what: string): Promise<void> {
  const deadline = Date.now() + SETTLE_MS;
  let left: string[];
  do {
    const now = await takeCensus(counted);
    left = now.filter((line) => !before.includes(line));
    if (left.length > 0) await sleep(POLL_MS);
  } while (left.length > 0 && Date.now() < deadline);
  expect({ what, left }).toEqual({ what, left: [] });
}

async function engineThings(installation: string): Promise<string[]> {
  const filter = ['--filter', `label=longshore.installation=${installation}`];
  const kinds: [string, string[]][] = [
    ['container', ['ps', '--all', '--format', '{{.Names}} {{.State}}', ...filter]],
    ['volume', ['volume', 'ls', '--format', '{{.Name}}', ...filter]],
    // Those have no labels of ours: none of them may be named after the installation.
    ['network', ['network', 'ls', '--format', '{{.Name}}', '--filter', `name=${installation}`]],
  ];
  const found = await Promise.all(
    kinds.map(async ([kind, args]) => {
      const { stdout } = await runCommand('docker', args);
      return stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => `${kind} ${line}`);
    }),
  );
  return found.flat();
}

async function recordsOf(databaseUrl: string): Promise<string[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const found: string[] = [];
    for (const sql of RECORDS) found.push(...(await client.query<{ line: string }>(sql)).rows.map(({ line }) => line));
    return found;
  } finally {
    await client.end();
  }
}

async function filesOf(directory: string): Promise<string[]> {
  const found = await readdir(directory, { recursive: true }).catch(() => []);
  return found.map((file) => `file ${directory}/${file}`);
}

/** Listening ones and pipes among them, and what else keeps the event loop busy. By number: they have no names. */
async function openSockets(): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd');
  const links = await Promise.all(descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  const sockets = links.filter((link) => link.startsWith('socket:') || link.startsWith('/')).length;
  const resources = process.getActiveResourcesInfo().filter((kind) => !PASSING.has(kind));
  const kinds = [...new Set(resources)].flatMap((kind) => numbered(kind, resources.filter((one) => one === kind).length));
  return [...numbered('descriptor', sockets), ...kinds];
}

/** "3 of them" is a line more than "2 of them", so that only growth is told. */
function numbered(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${kind} ${index + 1}`);
}
