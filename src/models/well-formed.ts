import { wrapLanguageModel } from 'ai';
import type { LanguageModelOfProvider } from './measured-arguments.ts';

const PLAIN = new Set<unknown>([Object.prototype, null]);

/** The type library that we compile with has neither method. */
type Text = string & { isWellFormed(): boolean; toWellFormed(): string };

/**
 * The same model. Half a character (a lone surrogate), as a cut in the middle of a symbol leaves it, or a server of tools that writes its texts like that, is
 * replaced: providers refuse a request that has one, and so each step of a conversation that keeps it.
 */
export function withWellFormedText(model: LanguageModelOfProvider): LanguageModelOfProvider {
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v3',
      transformParams: async ({ params: { prompt, tools, ...params } }) => ({
        ...params,
        prompt: wellFormed(prompt),
        ...(tools && { tools: wellFormed(tools) }),
      }),
    },
  });
}

/** Bytes and addresses stay as they are. */
function wellFormed<Value>(value: Value): Value {
  return mapped(value) as Value;
}

function mapped(value: unknown): unknown {
  if (typeof value === 'string') return textOf(value);
  if (Array.isArray(value)) return value.map(mapped);
  if (typeof value !== 'object' || value === null || !PLAIN.has(Object.getPrototypeOf(value))) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [textOf(name), mapped(item)]));
}

function textOf(text: string): string {
  return (text as Text).isWellFormed() ? text : (text as Text).toWellFormed();
}
