import { z } from 'zod';
import type { Verdict } from '../contracts/judging.ts';
import type { JsonObject } from '../contracts/json.ts';
import { operatorText } from '../contracts/operator-text.ts';
import { parseAnswer } from '../contracts/output.ts';

const LONGEST_REASON = 400;

const answer = z.strictObject({
  verdict: z.enum(['allow', 'hand-over']),
  confidence: z.number().min(0).max(1),
  reason: z.string(),
});

/** What a judge has to answer with, for providers that take a schema. */
export const VERDICT_SCHEMA = z.toJSONSchema(answer) as JsonObject;

/** Reads the answer of a judge. Only a clear allowance with enough confidence allows. */
export function readVerdict(text: string, minConfidence: number): Verdict {
  const parsed = parseAnswer(text);
  const read = 'value' in parsed ? answer.safeParse(parsed.value) : undefined;
  if (!read?.success) return handOver('The judge gave no verdict that can be read.');
  const { verdict, confidence } = read.data;
  const reason = operatorText(read.data.reason, LONGEST_REASON);
  if (verdict === 'allow' && confidence < minConfidence)
    return handOver(`The judge is not sure enough (${confidence}, and ${minConfidence} is needed): ${reason}`, confidence);
  return { verdict, reason, confidence };
}

/** A person decides. */
export function handOver(reason: string, confidence?: number): Verdict {
  return { verdict: 'hand-over', reason, ...(confidence !== undefined && { confidence }) };
}
