import { z } from 'zod';
import { definePlugin, defineTool, type Tool } from '../api/define-plugin.ts';
import { describeResult } from './command-result.ts';
import { COMMAND_CALL_TIMEOUT_MS, timeoutSeconds, workingDirectory } from './command-limits.ts';
import { shellLogs } from './shell-logs.ts';

/** Somewhat less than the longest argument that the kernel accepts (128 KiB). */
const MAX_COMMAND_LENGTH = 100_000;

const execId = z.string().min(1).describe('The execId that shell:run gave for a background command.');

export const shellPlugin = definePlugin({ id: 'shell', version: '1', description: 'Commands in the sandbox', tools: [run(), shellLogs(execId), kill()] });

function run(): Tool {
  return defineTool({
    id: 'run',
    description:
      'Runs a bash command in the sandbox, as the user "user", and gives its exit code, stdout and stderr. Long output is cut in the middle; the result then ' +
      'names the file with all of it. With background: true it returns at once with an execId, and the command runs on (a server, a watcher).',
    parameters: z.strictObject({
      command: z.string().min(1).max(MAX_COMMAND_LENGTH).describe('The command line, run by bash.'),
      cwd: workingDirectory,
      timeoutSeconds,
      background: z.boolean().default(false).describe('Let the command run on by itself, without a time limit.'),
    }),
    annotations: { title: 'Run a command', destructiveHint: true, openWorldHint: true },
    isolation: 'container',
    timeoutMs: COMMAND_CALL_TIMEOUT_MS,
    summarize: ({ command }) => command,
    async execute({ command, cwd, timeoutSeconds: seconds, background }, { sandbox }) {
      const where = cwd === undefined ? {} : { cwd };
      if (!background) return describeResult(await sandbox.exec(command, { ...where, timeoutMs: seconds * 1000, methods: true }));
      const started = await sandbox.start(command, { ...where, timeoutMs: 0 });
      return { execId: started.execId, status: 'running', next: 'Read its output with shell:logs, end it with shell:kill.' };
    },
  });
}

function kill(): Tool {
  return defineTool({
    id: 'kill',
    description: 'Ends a background command and everything it started: TERM first, KILL two seconds later.',
    parameters: z.strictObject({ execId }),
    annotations: { title: 'End a background command', idempotentHint: true },
    isolation: 'container',
    async execute({ execId }, { sandbox }) {
      const handle = await sandbox.handle();
      return { execId, status: (await handle.kill(execId)) ? 'killed' : 'had already ended' };
    },
  });
}
