import { excessOf, inexactNumberIn, parseForeign } from './foreign-json.ts';
import type { Json } from './json.ts';

/** Characters of a JSON Schema that an answer has to fit. */
export const MAX_OUTPUT_SCHEMA = 65_536;
/** A structured answer with more characters of JSON is not part of the event `turn.finished`; readers take it from the transcript. */
export const MAX_EVENT_OUTPUT = 16_384;

const FENCE = '```';
/** A value that the client has to read from the transcript. */
export type OutputOfTurn = { output: Json } | { outputCharacters: number };

/** Finds the JSON value in the text of an answer: the whole text, or what its only code fence contains. */
export function parseAnswer(text: string): { value: Json } | { problem: string } {
  const json = fenced(text) ?? text;
  if (json.trim() === '') return { problem: 'it has no text, and no JSON value' };
  const excess = excessOf(json);
  if (excess !== undefined) return { problem: `its JSON ${excess}` };
  const number = inexactNumberIn(json);
  if (number !== undefined) return { problem: `its number ${number} would be rounded; write it as a string, if the schema takes one` };
  try {
    return { value: parseForeign(json) };
  } catch (error) {
    return { problem: `it is no JSON value (${(error as Error).message})` };
  }
}

/** What a turn's event says about its structured answer. */
export function outputOf(value: Json): OutputOfTurn {
  const { length } = JSON.stringify(value);
  return length > MAX_EVENT_OUTPUT ? { outputCharacters: length } : { output: value };
}

/** The lines within the only fence of a text. */
function fenced(text: string): string | undefined {
  const lines = text.split('\n');
  const marks = lines.flatMap((line, index) => (line.trimStart().startsWith(FENCE) ? [index] : []));
  const [open, close] = marks;
  return marks.length === 2 ? lines.slice((open ?? 0) + 1, close).join('\n') : undefined;
}
