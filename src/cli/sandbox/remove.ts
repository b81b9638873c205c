import { Command } from 'commander';
import { failure } from '../../contracts/errors.ts';
import { createLogger } from '../../platform/log.ts';
import { destroyExpired } from '../../sdk/destroy-expired.ts';
import { confirmed } from '../output/confirmed.ts';
import { EXIT, printFact, printJson, printLine, type Cli } from '../output/cli.ts';
import { checkRemoval } from '../../sandbox/visits/held.ts';
import { oneByOne } from './one-by-one.ts';
import { findSandbox, withSandboxes, type Desk } from './with-sandboxes.ts';

interface RemoveOptions {
  yes?: boolean;
  force?: boolean;
}

export function removeCommand(cli: Cli): Command {
  return new Command('rm')
    .description('Destroy sandboxes with their files, or remove snapshots')
    .argument('<ids...>', 'sandboxes (sbx_…) and snapshots (snap_…)')
    .option('--yes', 'do not ask for confirmation')
    .option('--force', 'even while an open conversation has it')
    .action((ids: string[], options: RemoveOptions) =>
      withSandboxes(cli, async (desk) => {
        for (const id of ids) await checkOne(desk, id, options);
        if (!options.yes && !(await confirmed(cli, 'rm', `Remove ${ids.join(', ')} with everything in it?`))) {
          printLine(cli, 'Nothing was removed.');
          cli.exitCode = EXIT.failed;
          return;
        }
        await oneByOne(cli, ids, async (id) => {
          await (isSnapshot(id) ? desk.sandboxes.removeSnapshot(id) : desk.sandboxes.destroy(id));
          printFact(cli, `${id}: removed.`);
        });
      }),
    );
}

function isSnapshot(id: string): boolean {
  return id.startsWith('snap_');
}

/** All are checked before the first one is removed. */
async function checkOne(desk: Desk, id: string, { force = false }: RemoveOptions): Promise<void> {
  if (!isSnapshot(id)) {
    const row = await findSandbox(desk, id);
    // The sandbox of a conversation must be named by its own id, so that no one confuses it with the conversation.
    if (row.sandboxId !== id) throw failure('SANDBOX_NOT_FOUND', { sandboxId: id });
    return checkRemoval(desk, row, force);
  }
  const known = await desk.sandboxes.snapshots();
  if (!known.some(({ snapshotId }) => snapshotId === id)) throw failure('SNAPSHOT_NOT_FOUND', { snapshotId: id });
}

export function collectCommand(cli: Cli): Command {
  return new Command('gc')
    .description('Remove now what the reaper would remove: expired sandboxes, and containers, volumes, blobs and snapshots without an owner on this host')
    .option('--json', 'as JSON')
    .action(({ json }: { json?: boolean }) =>
      withSandboxes(cli, async ({ store, sandboxes }) => {
        const destroyed = await destroyExpired({ store, sandboxes, log: createLogger({ LONGSHORE_LOG_LEVEL: 'error' }) });
        const found = { destroyed, ...(await sandboxes.reap()) };
        if (json) return printJson(cli, found);
        if (Object.values(found).every((names) => names.length === 0)) return printLine(cli, 'Nothing to remove.');
        for (const [what, names] of Object.entries(TOLD)) {
          for (const name of found[what as keyof typeof found]) printFact(cli, `${name}: ${names}.`);
        }
      }),
    );
}

const TOLD = {
  destroyed: 'expired; destroyed',
  removedContainers: 'container without an owner; removed',
  removedVolumes: 'volume without an owner; removed',
  lost: 'its container is gone; marked as lost',
};
