import { Command } from 'commander';
import { confirmed } from '../output/confirmed.ts';
import { EXIT, printFact, printLine, type Cli } from '../output/cli.ts';
import { findSandbox, withSandboxes } from './with-sandboxes.ts';

/** For a backup that is damaged: without it, the sandbox of a lost host starts empty. */
export function dropBackupCommand(cli: Cli): Command {
  return new Command('drop-backup')
    .description('Remove the backup of a sandbox. If its host is lost, the sandbox starts with other files then, or empty')
    .argument('<id>', 'sandbox, or a conversation that has one')
    .option('--yes', 'do not ask for confirmation')
    .action((id: string, { yes }: { yes?: boolean }) =>
      withSandboxes(cli, async (desk) => {
        const { sandboxId, backup } = await findSandbox(desk, id);
        if (backup === undefined) return printLine(cli, `${sandboxId} has no backup.`);
        if (!yes && !(await confirmed(cli, 'drop-backup', `Remove the backup of ${sandboxId}, of ${backup.at}?`))) {
          printLine(cli, 'Nothing was removed.');
          cli.exitCode = EXIT.failed;
          return undefined;
        }
        const dropped = await desk.store.backups.drop(sandboxId);
        for (const { blob } of dropped?.parts ?? []) await desk.store.blobs.remove(blob.blobId);
        return printFact(cli, `${sandboxId}: the backup of ${backup.at} is removed.`);
      }),
    );
}
