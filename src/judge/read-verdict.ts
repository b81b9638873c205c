import { z } from 'zod';
import type { Verdict } from '../contracts/judging.ts';
import { tryParseForeign } from '../contracts/foreign-json.ts';
import type { JsonObject } from '../contracts/json.ts';
import { operatorText } from '../contracts/operator-text.ts';

const LONGEST_REASON = 400;

const answer = z.strictObject({
  verdict: z.enum(['allow', 'hand-over']),
  confidence: z.number().min(0).max(1),
  reason: z.string(),
});

/** What a judge has to answer with, for providers that take a schema. */
export const VERDICT_SCHEMA = z.toJSONSchema(answer) as JsonObject;

/** A code fence with nothing before and behind it: words around it may be about a verdict that the arguments of the call ask for. */
const FENCED = /^```(?:json)?[^\S\n]*\n(.*)\n[^\S\n]*```$/s;
const STRING = /"(?:[^"\\]|\\.)*"/gs;

/** Reads the answer of a judge. Only a clear allowance with enough confidence allows. */
export function readVerdict(text: string, minConfidence: number): Verdict {
  const whole = text.trim();
  const json = FENCED.exec(whole)?.[1] ?? whole;
  const read = answer.safeParse(tryParseForeign(json));
  if (!read.success || hasNameTwice(json)) return handOver('The judge gave no verdict that can be read.');
  const { verdict, confidence } = read.data;
  const reason = operatorText(read.data.reason, LONGEST_REASON);
  if (verdict === 'allow' && confidence < minConfidence)
    return handOver(`The judge is not sure enough (${confidence}, and ${minConfidence} is needed): ${reason}`, confidence);
  return { verdict, reason, confidence };
}

/** Of two values of one name, parsing takes the second: that of a quotation which ended the reason, and is not what the judge says. */
function hasNameTwice(json: string): boolean {
  return json.replaceAll(STRING, '').split(':').length - 1 > Object.keys(answer.shape).length;
}

/** A person decides. */
export function handOver(reason: string, confidence?: number): Verdict {
  return { verdict: 'hand-over', reason, ...(confidence !== undefined && { confidence }) };
}
