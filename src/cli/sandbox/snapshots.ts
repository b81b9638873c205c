import { Command } from 'commander';
import { parseDuration } from '../../common/duration.ts';
import { shortTime } from '../../common/short-time.ts';
import { makeId } from '../../contracts/ids.ts';
import type { SnapshotInfo } from '../../sandbox/api/snapshots.ts';
import { printError, printFact, printJson, printLine, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';
import { wholeNumber } from '../output/whole-number.ts';
import { oneByOne } from './one-by-one.ts';
import { waitingForRoom } from './waiting-for-room.ts';
import { findSandbox, withSandboxes } from './with-sandboxes.ts';

/** Creates, lists and restores copies of sandboxes. */
export function snapshotCommands(cli: Cli): Command[] {
  return [
    new Command('snapshot')
      .description('Make a snapshot of a sandbox; the sandbox continues afterwards')
      .argument('<id>', 'sandbox, or a conversation that has one')
      .option('--name <name>', 'keep it until it is removed; snapshots without a name are removed when they are old or too many')
      .option('--json', 'as JSON')
      .action((id: string, options: { name?: string; json?: boolean }) => snapshot(cli, id, options)),
    new Command('snapshots')
      .description('List snapshots, the oldest first')
      .argument('[id]', 'only of this sandbox, or of that of this conversation')
      .option('--tenant <id>')
      .option('--json', 'as JSON')
      .action((id: string | undefined, options: { tenant?: string; json?: boolean }) => list(cli, id, options)),
    new Command('restore')
      .description('Make a sandbox of a snapshot; it belongs to no conversation')
      .argument('<snapshot>')
      .option('--ttl <duration>', 'destroy it after that time; without, it stays until it is removed')
      .action((snapshotId: string, options: { ttl?: string }) => restore(cli, snapshotId, options)),
    new Command('fork')
      .description('Make sandboxes that begin as this one is now; they belong to no conversation, and stay until they are removed')
      .argument('<id>', 'sandbox, or a conversation that has one')
      .option('--count <number>', 'how many, up to 32', wholeNumber, 1)
      .action((id: string, { count }: { count: number }) =>
        withSandboxes(cli, async (desk) => {
          const { sandboxId } = await findSandbox(desk, id);
          await oneByOne(cli, [`the fork of ${sandboxId}`], async () => {
            for (const forkId of await desk.sandboxes.fork(sandboxId, count)) printLine(cli, forkId);
          });
        }),
      ),
  ];
}

async function snapshot(cli: Cli, id: string, { name, json }: { name?: string; json?: boolean }): Promise<void> {
  await withSandboxes(cli, async (desk) => {
    const { sandboxId } = await findSandbox(desk, id);
    await oneByOne(cli, [`the snapshot of ${sandboxId}`], async () => {
      const made = await desk.sandboxes.snapshot(sandboxId, { ...(name !== undefined && { name }) });
      if (json) return printJson(cli, made);
      return printFact(cli, `${made.snapshotId}: ${sandboxId}, ${made.memory ? 'with its processes' : 'its files only'}.`);
    });
  });
}

async function list(cli: Cli, id: string | undefined, { tenant, json }: { tenant?: string; json?: boolean }): Promise<void> {
  await withSandboxes(cli, async ({ sandboxes, store }) => {
    // Snapshots with a name outlive their sandbox.
    const sandboxId = id === undefined ? undefined : ((await store.sandboxes.ofConversation(id))?.sandboxId ?? id);
    const found = await sandboxes.snapshots({ ...(sandboxId !== undefined && { sandboxId }), ...(tenant !== undefined && { tenantId: tenant }) });
    if (json) printJson(cli, found);
    else if (found.length === 0) printLine(cli, 'No snapshots.');
    else printTable(cli, ['SNAPSHOT', 'SANDBOX', 'NAME', 'MEMORY', 'HOST', 'STORED', 'MADE'], found.map(cells));
  });
}

function cells({ snapshotId, sandboxId, name, memory, hostId, stored, createdAt }: SnapshotInfo): string[] {
  return [snapshotId, sandboxId, name ?? '-', memory ? 'yes' : 'no', hostId, stored ? 'yes' : 'no', shortTime(createdAt)];
}

async function restore(cli: Cli, snapshotId: string, { ttl }: { ttl?: string }): Promise<void> {
  const ttlMs = ttl === undefined ? undefined : parseDuration(ttl);
  await withSandboxes(cli, async ({ sandboxes }) => {
    const found = (await sandboxes.snapshots()).find((each) => each.snapshotId === snapshotId);
    const sandboxId = makeId('sbx', Date.now(), Math.random);
    const owner = { sandboxId, tenantId: found?.tenantId ?? '', ...(ttlMs !== undefined && { ttlMs }) };
    await waitingForRoom(cli, async (waiting) => {
      const { lost } = await sandboxes.restore(snapshotId, owner, waiting);
      printLine(cli, sandboxId);
      if (lost !== undefined) printError(cli, lost);
    });
  });
}
