import { isObject, type Json, type JsonObject } from '../contracts/json.ts';
import type { TranscriptEntry } from '../contracts/transcript.ts';

type ToolEntry = TranscriptEntry & { role: 'tool' };

/**
 * Compares a call's result with what a script expects. `isError` and `text` are about the whole result, other names about the fields of a JSON result.
 * A string written `/…/` is a regular expression, and objects need not name all fields. Returns the first difference as text, or undefined.
 */
export function checkExpectation(expected: JsonObject, result: ToolEntry): string | undefined {
  const text = result.content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n');
  const whole: JsonObject = { isError: result.isError, text };
  const fields = parseObject(text);
  for (const [name, want] of Object.entries(expected)) {
    if (!Object.hasOwn(whole, name) && !fields) return `${name}: expected ${show(want)}, but the result is no JSON object: ${show(text)}`;
    const difference = compare(name, want, Object.hasOwn(whole, name) ? whole[name] : fields?.[name]);
    if (difference) return `${difference}; the whole result: ${show(text)}`;
  }
  return undefined;
}

function compare(path: string, want: Json, real: Json | undefined): string | undefined {
  if (real === undefined) return `${path}: expected ${show(want)}, but there is none`;
  if (isObject(want)) {
    if (!isObject(real)) return `${path}: expected ${show(want)}, got ${show(real)}`;
    return Object.entries(want)
      .map(([name, value]) => compare(`${path}.${name}`, value, real[name]))
      .find((difference) => difference !== undefined);
  }
  if (Array.isArray(want) && Array.isArray(real) && want.length === real.length) {
    return want.map((value, index) => compare(`${path}.${index}`, value, real[index])).find((difference) => difference !== undefined);
  }
  return matches(want, real) ? undefined : `${path}: expected ${show(want)}, got ${show(real)}`;
}

function matches(want: Json, real: Json): boolean {
  const pattern = typeof want === 'string' ? /^\/(.*)\/([ims]*)$/s.exec(want) : null;
  if (pattern && typeof real === 'string') return new RegExp(pattern[1] ?? '', pattern[2]).test(real);
  return want === real;
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function show(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 600 ? `${text.slice(0, 400)} … ${text.slice(-200)}` : text;
}
