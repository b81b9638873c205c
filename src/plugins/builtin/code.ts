import { z } from 'zod';
import { definePlugin, defineTool } from '../api/define-plugin.ts';
import { describeCode } from './code-result.ts';
import { describeResult } from './command-result.ts';
import { COMMAND_CALL_TIMEOUT_MS, timeoutSeconds, workingDirectory } from './command-limits.ts';

const MAX_CODE_LENGTH = 100_000;
const COMMON_JS = /\brequire\s*\(|\bmodule\.exports\b|\bexports\./;

const parameters = z.strictObject({
  language: z
    .enum(['python', 'javascript', 'typescript', 'bash'])
    .describe('Language of the code. JavaScript runs in Node as a module; with require() it runs as CommonJS, where await needs an async function.'),
  code: z.string().min(1).max(MAX_CODE_LENGTH).describe('The program. Print what you want to see.'),
  context: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,40}$/)
    .optional()
    .describe('Name of an interpreter whose variables live on between calls (not for bash). The value of the last line is given, too.'),
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
        'Runs a program in the sandbox and gives its exit code, stdout and stderr. Each call is a new process, and only files stay, unless a context is named. ' +
        'Modules of the working directory can be imported. Python and JavaScript programs can call your other tools as functions: ' +
        "Python `from longshore import tools; tools.files.read(path='a.txt')`, JavaScript `await tools.files.read({ path: 'a.txt' })`.",
      parameters,
      annotations: { title: 'Run code', destructiveHint: true, openWorldHint: true },
      isolation: 'container',
      timeoutMs: COMMAND_CALL_TIMEOUT_MS,
      summarize: ({ language, code }) => `${language}: ${code}`,
      async execute(input, { sandbox }) {
        const { language, code, context, cwd } = input;
        if (context !== undefined || language === 'typescript') {
          const where = { ...(context !== undefined && { contextId: context }), ...(cwd !== undefined && { cwd }) };
          return describeCode(await sandbox.runCode(code, { language, ...where, timeoutMs: input.timeoutSeconds * 1000, methods: true }));
        }
        const { command, stdin } = commandFor(input.language, input.code);
        const options = { timeoutMs: input.timeoutSeconds * 1000, ...(input.cwd !== undefined && { cwd: input.cwd }), ...(stdin !== undefined && { stdin }) };
        return describeResult(await sandbox.exec(command, { ...options, env: { PYTHONUNBUFFERED: '1' }, methods: true }));
      },
    }),
  ],
});

/** Programs are passed by stdin: no file is left behind, and imports are resolved from the working directory. */
function commandFor(language: z.infer<typeof parameters>['language'], code: string): { command: string; stdin?: string } {
  if (language === 'bash') return { command: code };
  if (language === 'python') return { command: 'exec python3 ${LONGSHORE_GUEST:+"$LONGSHORE_GUEST/run_python.py"} -', stdin: code };
  const tools = '${LONGSHORE_GUEST:+--require "$LONGSHORE_GUEST/global_tools.cjs"}';
  return { command: `exec node ${tools} --input-type=${COMMON_JS.test(code) ? 'commonjs' : 'module'} -`, stdin: code };
}
