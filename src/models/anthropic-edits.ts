import { z } from 'zod';
import type { JsonObject } from '../contracts/json.ts';
import type { Compacting } from './windows.ts';

/** Before Longshore makes a prompt smaller, the provider does: at this part of the tokens at which Longshore would. */
const BEFORE = 0.75;
/** The provider's cache is lost behind what is cleared, so that little pieces are not worth it. */
const AT_LEAST = 0.1;
const KEPT_CALLS = 5;

const edited = z.object({
  anthropic: z.object({ contextManagement: z.object({ appliedEdits: z.array(z.object({ clearedInputTokens: z.number().optional() })) }) }),
});

/** Options of Anthropic's API with which it clears the results of older calls on its side. */
export function anthropicEdits({ window, compactAt }: Required<Pick<Compacting, 'window' | 'compactAt'>>): JsonObject {
  const tokens = (part: number) => ({ type: 'input_tokens', value: Math.floor(window * part) });
  const clearing = { trigger: tokens(compactAt * BEFORE), keep: { type: 'tool_uses', value: KEPT_CALLS }, clearAtLeast: tokens(AT_LEAST) };
  return { contextManagement: { edits: [{ type: 'clear_tool_uses_20250919', ...clearing }] } };
}

/** The tokens that it cleared, by what the library says of an answer; undefined when it cleared none. */
export function clearedByAnthropic(metadata: unknown): number | undefined {
  const { data } = edited.safeParse(metadata);
  const cleared = data?.anthropic.contextManagement.appliedEdits.reduce((sum, { clearedInputTokens = 0 }) => sum + clearedInputTokens, 0);
  return cleared === 0 ? undefined : cleared;
}
