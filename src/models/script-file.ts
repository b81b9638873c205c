import { z } from 'zod';
import { withoutUndefined } from '../common/without-undefined.ts';
import { failure } from '../contracts/errors.ts';
import { CUT_OFF } from '../contracts/transcript.ts';
import { readYamlFile } from '../platform/read-yaml-file.ts';

const json = z.json();
const call = z.strictObject({
  /** Full tool id. */
  call: z.string().min(1),
  with: z.record(z.string(), json).default({}),
  /** What must be true of the call's result; see `checkExpectation`. */
  expect: z.record(z.string(), json).optional(),
});
const tokens = z.int().min(0);
const usage = z
  .strictObject({ inputTokens: tokens, outputTokens: tokens, cacheReadTokens: tokens.optional(), cacheWriteTokens: tokens.optional() })
  .transform(withoutUndefined);
const step = z
  .strictObject({
    think: z.string().min(1).optional(),
    say: z.string().min(1).optional(),
    ...call.partial().shape,
    with: call.shape.with.unwrap().optional(),
    calls: z.array(call).min(1).optional(),
    /** Tokens to report instead of an estimate. */
    usage: usage.optional(),
    /** Says that the answer was cut off. */
    cutOff: z.enum(CUT_OFF).optional(),
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
  /** The answer whenever older steps are summed up. */
  summary: z.string().min(1).optional(),
  /** The answer whenever a plugin asks. */
  plugin: step.optional(),
  steps: z.array(step).min(1),
});

export type Script = z.infer<typeof script>;
export type ScriptStep = Script['steps'][number];

/** Reads and checks a script; a bad one fails with `MODEL_NOT_SUPPORTED`, naming file, line, path and problem. */
export function readScript(file: string): Promise<Script> {
  return readYamlFile(file, script, (problem, cause) =>
    failure('MODEL_NOT_SUPPORTED', { model: `scripted/${file}`, problem, fix: 'Correct the script; docs/guides/models.md shows its form' }, cause),
  );
}
