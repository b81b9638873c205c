import { z } from 'zod';
import { shellQuoted } from '../../common/shell-quoted.ts';
import { failure } from '../../contracts/errors.ts';
import type { JsonObject } from '../../contracts/json.ts';
import { cutMiddle } from '../../contracts/visible-text.ts';
import { tryParseForeign } from '../../contracts/foreign-json.ts';
import { readProgram } from '../../platform/read-program.ts';
import type { ToolSandbox } from '../api/define-plugin.ts';

const TIMEOUT_MS = 60_000;
/** Far more than a program answers; prevents a hostile program from filling the worker's memory. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Starts each program, and is the module that it imports. */
const PRELUDE = readProgram(import.meta.url, 'programs/prelude.py');

/** A refusal of a program: an expected outcome that the tool turns into an error result. */
export class ProgramRefusal extends Error {}

/**
 * Runs a Python program of `programs` in the sandbox, once for this call, and returns the result of its function `main`. It runs as the sandbox's user, so
 * that links and paths reach only what that user may access. The answer is checked, because the guest may have changed the programs that run there.
 * @throws Refusal with a text for the model when the program refused.
 */
export async function runProgram<Answer>(sandbox: ToolSandbox, program: string, input: JsonObject, answer: z.ZodType<Answer>): Promise<Answer> {
  const result = await sandbox.exec(`exec python3 -I -S -c ${shellQuoted(PRELUDE)} ${shellQuoted(program)}`, {
    stdin: JSON.stringify(input),
    timeoutMs: TIMEOUT_MS,
    quiet: true,
  });
  if (result.status !== 'exited' || result.exitCode !== 0) {
    const ending = result.status === 'exited' ? `exit code ${result.exitCode}` : result.status;
    throw failed(`${ending}: ${cutMiddle(result.stderr.text.trim(), 500)}`);
  }
  const text = result.stdout.truncated ? await readWhole(sandbox, result.stdout.path) : result.stdout.text;
  const parsed = z.union([z.object({ ok: answer }), z.object({ problem: z.string() })]).safeParse(tryParseForeign(text));
  if (!parsed.success) throw failed(`it answered ${JSON.stringify(cutMiddle(text, 200))}`);
  if ('problem' in parsed.data) throw new ProgramRefusal(parsed.data.problem);
  return parsed.data.ok;
}

function failed(problem: string): Error {
  return failure('TOOL_FAILED', { tool: 'The program in the sandbox', problem });
}

async function readWhole(sandbox: ToolSandbox, path: string): Promise<string> {
  const handle = await sandbox.handle();
  return (await handle.readFile(path, { maxBytes: MAX_ANSWER_BYTES })).toString();
}
