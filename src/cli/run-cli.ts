import { Command, CommanderError } from 'commander';
import { isFailure } from '../contracts/errors.ts';
import { approvalsCommand } from './approvals/approvals.ts';
import { auditCommand } from './keys/audit.ts';
import { approveCommand } from './conversations/approve.ts';
import { chatCommand } from './conversations/chat.ts';
import { printError, type Cli, type CliProcess } from './output/cli.ts';
import { checkpointsCommand } from './conversations/checkpoints.ts';
import { closeCommand } from './conversations/close.ts';
import { devCommand } from './machine/dev.ts';
import { doctorCommand } from './machine/doctor-command.ts';
import { exitCodeOf } from './output/exit-code-of.ts';
import { compactCommand } from './conversations/compact.ts';
import { diffCommand } from './conversations/diff.ts';
import { exportCommand } from './conversations/export.ts';
import { importCommand } from './conversations/import.ts';
import { hostsCommand } from './hosts/hosts.ts';
import { interruptCommand } from './conversations/interrupt.ts';
import { keysCommand } from './keys/keys.ts';
import { limitsCommand } from './limits/limits.ts';
import { listCommand } from './conversations/list.ts';
import { mcpCommand } from './mcp/mcp.ts';
import { memoryCommand } from './memory/memory.ts';
import { pauseCommand } from './conversations/pause.ts';
import { pluginsCommand } from './plugins/plugins.ts';
import { retentionCommand } from './removal/retention.ts';
import { eraseCommand } from './removal/erase-command.ts';
import { resumeCommand } from './conversations/resume.ts';
import { forkCommand } from './conversations/fork.ts';
import { rewindCommand } from './conversations/rewind.ts';
import { runConversationCommand } from './conversations/run.ts';
import { sandboxCommand } from './sandbox/sandbox.ts';
import { scheduleCommand } from './schedule/schedule.ts';
import { setupCommand } from './machine/setup-command.ts';
import { serveCommand } from './machine/serve.ts';
import { showCommand } from './conversations/show.ts';
import { templateCommand } from './machine/template-command.ts';
import { signInsCommand } from './sign-ins/sign-ins.ts';
import { skillsCommand } from './skills/skills.ts';
import { createOutput } from './output/terminal.ts';
import { usageCommand } from './usage/usage.ts';
import { webhooksCommand } from './webhooks/webhooks.ts';
import { workerCommand } from './machine/worker.ts';
import { ownVersion } from '../platform/own-version.ts';

const EXIT_CODES = `
Exit codes: 0 done, 1 failed, 2 wrong usage or bad configuration, 3 waiting for an approval,
4 paused, 5 a needed service is unavailable, 130 interrupted.`;

/** Runs one command line and returns its exit code; every error ends as one message on stderr. */
export async function runCli(argv: string[], { out, err, ...rest }: CliProcess): Promise<number> {
  const cli: Cli = { ...rest, out: createOutput(out), err: createOutput(err) };
  try {
    await createProgram(cli).parseAsync(argv, { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    // Commander has already printed its own errors.
    if (!(error instanceof CommanderError)) printError(cli, describe(error));
    return exitCodeOf(error);
  }
}

/** Makes all commands, whichever runs. Their modules import only what describes them; what a command works with is imported by its action. */
function createProgram(cli: Cli): Command {
  const program = new Command('longshore')
    .description('Agent conversations that survive anything.')
    .version(ownVersion())
    // Arguments after the name of a command are passed to it unchanged, including the `--` before the words of `sandbox exec`.
    .enablePositionalOptions()
    .addHelpText('after', EXIT_CODES);
  const makers = [
    devCommand,
    workerCommand,
    serveCommand,
    keysCommand,
    auditCommand,
    retentionCommand,
    limitsCommand,
    eraseCommand,
    setupCommand,
    doctorCommand,
    templateCommand,
    sandboxCommand,
    hostsCommand,
    pluginsCommand,
    mcpCommand,
    skillsCommand,
    signInsCommand,
    chatCommand,
    runConversationCommand,
    scheduleCommand,
    webhooksCommand,
    listCommand,
    showCommand,
    checkpointsCommand,
    diffCommand,
    exportCommand,
    importCommand,
    rewindCommand,
    forkCommand,
    memoryCommand,
    usageCommand,
    pauseCommand,
    resumeCommand,
    approvalsCommand,
    approveCommand,
    interruptCommand,
    compactCommand,
    closeCommand,
  ];
  for (const make of makers) program.addCommand(make(cli));
  for (const command of [program, ...program.commands.flatMap((child) => [child, ...child.commands])]) {
    command
      .exitOverride()
      .showHelpAfterError('Add --help for the usage.')
      .configureOutput({
        writeOut: (text) => cli.out.print(text),
        writeErr: (text) => cli.err.print(text),
        outputError: (text, write) => write(`${withMargin(text.trimEnd())}\n`),
      });
  }
  return program;
}

function describe(error: unknown): string {
  if (isFailure(error)) return withMargin(error.message);
  return withMargin(error instanceof Error ? (error.stack ?? error.message) : String(error));
}

/** Indents the lines after the first, so that no line of an untrusted message looks like a line of Longshore. */
function withMargin(text: string): string {
  return text.replaceAll('\n', '\n  ');
}
