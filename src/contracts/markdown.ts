import { cutMiddle, splitMiddle, visibleLine } from './visible-text.ts';

/** A text may have megabytes, and its summary must not delay the conversation. */
const LONGEST_LOOKED_AT = 4_000;
/** Longest summary of a workflow or an activity, in bytes. */
const MAX_SUMMARY_BYTES = 200;
/** Longest summary as JSON, in bytes. Temporal refuses payloads of a summary with more than 400 bytes, and encryption adds up to 145. */
const MAX_SUMMARY_JSON_BYTES = 250;
/** Links, images, addresses that become links, HTML, headings, quotes, lists. */
const ACTIVE = /[<>`]|\[.*\]|:\/\/|www\.|^\s*(?:[#+-]|\d+[.)])/;

/** Untrusted text as a span of Markdown code, in one line; characters that would be invisible become escapes. */
export function codeSpan(text: string): string {
  // A backtick would end the span, so it is shown as its JSON escape.
  // For an empty text, two backticks would begin a span that ends elsewhere.
  if (text === '') return '`""`';
  return `\`${visibleLine(text).replaceAll('`', '\\u0060')}\``;
}

/**
 * A summary for the Temporal UI, which renders Markdown: text that could be more than plain text becomes a span of code. A text that is cut is marked, and its
 * end is shown.
 */
export function summaryLine(text: string): string {
  if (text.length > LONGEST_LOOKED_AT) return summaryOfLong(text);
  const line = lineOf(text);
  for (let limit = MAX_SUMMARY_BYTES; ; limit = Math.floor(limit * 0.8)) {
    const cut = cutMiddle(line, limit);
    const shown = ACTIVE.test(cut) ? codeSpan(cut) : cut;
    if (fits(shown)) return shown;
  }
}

/** The beginning and the end of the text, each converted to one line; only the length of the middle is used. */
function summaryOfLong(text: string): string {
  const half = LONGEST_LOOKED_AT / 2;
  const [head, tail] = [lineOf(text.slice(0, half)), lineOf(text.slice(-half))];
  for (let limit = MAX_SUMMARY_BYTES; ; limit = Math.floor(limit * 0.8)) {
    const [start, end] = [splitMiddle(head, limit)?.head ?? head, splitMiddle(tail, Math.floor(limit / 2))?.tail ?? tail];
    const cut = `${start.slice(0, limit)} …cut, ${text.length} characters in all… ${end}`;
    const shown = ACTIVE.test(cut) ? codeSpan(cut) : cut;
    if (fits(shown)) return shown;
  }
}

function fits(summary: string): boolean {
  const bytes = (text: string) => new TextEncoder().encode(text).length;
  return bytes(summary) <= MAX_SUMMARY_BYTES && bytes(JSON.stringify(summary)) <= MAX_SUMMARY_JSON_BYTES;
}

function lineOf(text: string): string {
  return visibleLine(text).replaceAll(/\s+/g, ' ').trim();
}
