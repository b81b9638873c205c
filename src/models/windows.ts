import type { Agent } from '../contracts/agent.ts';
import { matchesPattern } from '../common/match-pattern.ts';

/**
 * Tokens of input that models take, as their providers published up to the end of 2025. Later models of a family take as much or more: at worst, a conversation is
 * compacted earlier than it would have to be.
 */
const WINDOWS: readonly [pattern: string, tokens: number][] = [
  ['anthropic/claude-*', 200_000],
  ['openai/gpt-5*', 272_000],
  ['openai/gpt-4.1*', 1_047_576],
  ['openai/gpt-4o*', 128_000],
  ['openai/gpt-4-turbo*', 128_000],
  ['openai/o1*', 200_000],
  ['openai/o3*', 200_000],
  ['openai/o4-mini*', 200_000],
  ['google/gemini-*', 1_048_576],
];
const DEFAULTS = { compactAt: 0.8, keepTurns: 4 };

/** How the conversations of an agent are compacted. */
export interface Compacting {
  /** Tokens of the model's window; absent when it is not known. */
  window?: number;
  /** The part of the window at which the prompt is made smaller. */
  compactAt: number;
  /** The newest turns that are kept whole while there is room. */
  keepTurns: number;
  /** The provider clears older results on its side before that. */
  providerEdits?: boolean;
}

/** Undefined: never. */
export function compactingOf({ model, context }: Pick<Agent, 'model' | 'context'>): Compacting | undefined {
  if (context === 'off') return undefined;
  const window = context?.window ?? WINDOWS.find(([pattern]) => matchesPattern(pattern, model))?.[1];
  return { ...DEFAULTS, ...context, ...(window !== undefined && { window }) };
}
