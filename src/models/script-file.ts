import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { failure } from '../contracts/errors.ts';
import { readYaml } from '../common/yaml-document.ts';

const json = z.json();
const call = z.strictObject({
  /** Full tool id. */
  call: z.string().min(1),
  with: z.record(z.string(), json).default({}),
  /** What must be true of the call's result; see `checkExpectation`. */
  expect: z.record(z.string(), json).optional(),
});
const usage = z.strictObject({ inputTokens: z.int().min(0), outputTokens: z.int().min(0) });
const step = z
  .strictObject({
    think: z.string().min(1).optional(),
    say: z.string().min(1).optional(),
    ...call.partial().shape,
    with: call.shape.with.unwrap().optional(),
    calls: z.array(call).min(1).optional(),
    /** Tokens to report instead of an estimate. */
    usage: usage.optional(),
  })
  .refine((value) => value.say !== undefined || value.call !== undefined || value.calls !== undefined, 'a step needs say, call or calls')
  .refine((value) => value.call === undefined || value.calls === undefined, 'a step has either call or calls')
  .refine((value) => value.call !== undefined || (value.with === undefined && value.expect === undefined), 'with and expect belong to a call')
  .transform(({ call: tool, with: input, expect, calls, ...rest }) => ({
    ...rest,
    calls: calls ?? (tool === undefined ? [] : [{ call: tool, with: input ?? {}, ...(expect && { expect }) }]),
  }));
const script = z.strictObject({
  /** Continues with the first step after the last one. */
  repeat: z.boolean().default(false),
  steps: z.array(step).min(1),
});

export type Script = z.infer<typeof script>;
export type ScriptStep = Script['steps'][number];

/** Reads and checks a script; a bad one fails with `MODEL_NOT_SUPPORTED`, naming file, line, path and problem. */
export async function readScript(file: string): Promise<Script> {
  const read = readYaml(await readText(file));
  if ('syntax' in read) throw unusable(file, `it is not YAML (${read.syntax})`);
  if ('aliases' in read) throw unusable(file, `its aliases cannot be resolved (${read.aliases})`, read.cause);
  const { document, lines, value } = read;
  const parsed = script.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = (issue?.path ?? []).filter((part) => typeof part !== 'symbol');
  const node = document.getIn(path, true) as { range?: [number, number, number] } | undefined;
  const line = node?.range ? ` (line ${lines.linePos(node.range[0]).line})` : '';
  throw unusable(file, `${path.join('.') || 'the file'}${line}: ${issue?.message}`);
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw unusable(file, (error as Error).message, error);
  }
}

function unusable(file: string, problem: string, cause?: unknown): Error {
  return failure('MODEL_NOT_SUPPORTED', { model: `scripted/${file}`, problem, fix: 'Correct the script; docs/guides/models.md shows its form' }, cause);
}
