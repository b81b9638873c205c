import { promptTokens, type PromptParts } from './prompt-size.ts';

/** Tokens of an answer with which a step is worth beginning. */
const LEAST_ANSWER = 256;
/** Every model can answer with so many; a larger limit is refused by some. */
export const MOST_LIMITED_ANSWER = 8_192;
/** With more left than this, the answer is not limited. */
const AMPLE = 64_000;

/** Whether a step fits into what is left of a budget: the limit of its answer, if it needs one, or the tokens that it would need. */
export type Affordable = { maxOutputTokens?: number } | { needs: number };

export function affordStep(left: number, prompt: PromptParts): Affordable {
  const needs = promptTokens(prompt) + LEAST_ANSWER;
  if (needs > left) return { needs };
  const room = left - needs + LEAST_ANSWER;
  return room > AMPLE ? {} : { maxOutputTokens: Math.min(room, MOST_LIMITED_ANSWER) };
}
