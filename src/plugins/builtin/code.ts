import { z } from 'zod';
import { definePlugin, defineTool } from '../define-plugin.ts';
import { describeResult } from './command-result.ts';
import { COMMAND_CALL_TIMEOUT_MS, timeoutSeconds, workingDirectory } from './limits.ts';

const MAX_CODE_LENGTH = 100_000;
const COMMON_JS = /\brequire\s*\(|\bmodule\.exports\b|\bexports\./;

const parameters = z.strictObject({
  language: z.enum(['python', 'javascript', 'bash']).describe('Language of the code. JavaScript runs in Node as a module; with require() it runs as CommonJS.'),
  code: z.string().min(1).max(MAX_CODE_LENGTH).describe('The program. Print what you want to see.'),
  cwd: workingDirectory,
  timeoutSeconds,
});

export const codePlugin = definePlugin({
  id: 'code',
  version: '1',
  description: 'Programs in the sandbox',
  tools: [
    defineTool({
      id: 'run',
      description:
        'Runs a program in the sandbox and gives its exit code, stdout and stderr. Each call is a new process; only files stay. ' +
        'Modules of the working directory can be imported.',
      parameters,
      annotations: { title: 'Run code', destructiveHint: true, openWorldHint: true },
      isolation: 'container',
      timeoutMs: COMMAND_CALL_TIMEOUT_MS,
      summarize: ({ language, code }) => `${language}: ${code}`,
      async execute(input, { sandbox }) {
        const { command, stdin } = commandFor(input.language, input.code);
        const options = { timeoutMs: input.timeoutSeconds * 1000, ...(input.cwd !== undefined && { cwd: input.cwd }), ...(stdin !== undefined && { stdin }) };
        return describeResult(await sandbox.exec(command, { ...options, env: { PYTHONUNBUFFERED: '1' } }));
      },
    }),
  ],
});

/** Programs come by stdin: no file is left behind, and imports are resolved from the working directory. */
function commandFor(language: z.infer<typeof parameters>['language'], code: string): { command: string; stdin?: string } {
  if (language === 'bash') return { command: code };
  if (language === 'python') return { command: 'exec python3 -', stdin: code };
  return { command: `exec node --input-type=${COMMON_JS.test(code) ? 'commonjs' : 'module'} -`, stdin: code };
}
