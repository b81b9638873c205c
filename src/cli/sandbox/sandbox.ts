import { Command } from 'commander';
import type { Cli } from '../output/cli.ts';
import { copyCommand } from './copy.ts';
import { dropBackupCommand } from './drop-backup.ts';
import { execCommand } from './exec.ts';
import { listSandboxes } from './list.ts';
import { logsCommand } from './logs.ts';
import { collectCommand, removeCommand } from './remove.ts';
import { restCommands } from './rest.ts';
import { shellCommand } from './shell.ts';
import { showSandbox } from './show.ts';
import { snapshotCommands } from './snapshots.ts';

export function sandboxCommand(cli: Cli): Command {
  const command = new Command('sandbox').description('Look into sandboxes, work in them, and move them between their tiers').enablePositionalOptions();
  const parts = [
    listSandboxes(cli),
    showSandbox(cli),
    shellCommand(cli),
    execCommand(cli),
    copyCommand(cli),
    logsCommand(cli),
    ...restCommands(cli),
    ...snapshotCommands(cli),
    dropBackupCommand(cli),
    removeCommand(cli),
    collectCommand(cli),
  ];
  for (const part of parts) command.addCommand(part);
  return command;
}
