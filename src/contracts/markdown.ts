import { cutMiddle, splitMiddle, visibleLine } from './visible-text.ts';

/** A text may have megabytes, and is looked at by whoever is busy with a conversation. */
const LONGEST_LOOKED_AT = 4_000;
/** Longest summary of a workflow or an activity, in bytes. */
const MAX_SUMMARY_BYTES = 200;
/** Links, images, addresses that become links, HTML, headings, quotes, lists. */
const ACTIVE = /[<>`]|\[.*\]|:\/\/|www\.|^\s*(?:[#+-]|\d+[.)])/;

/** Text that others wrote as a span of Markdown code, in one line, with every character that would not be seen as an escape. */
export function codeSpan(text: string): string {
  // A backtick would end the span, whatever follows it; it is shown as the escape that JSON has for it.
  // Two backticks would begin a span that ends elsewhere.
  if (text === '') return '`""`';
  return `\`${visibleLine(text).replaceAll('`', '\\u0060')}\``;
}

/** A summary for the Temporal UI, which takes it for Markdown: what could be more than text is a span of code; what is cut says so and shows its end. */
export function summaryLine(text: string): string {
  if (text.length > LONGEST_LOOKED_AT) return summaryOfLong(text);
  const line = lineOf(text);
  for (let limit = MAX_SUMMARY_BYTES; ; limit = Math.floor(limit * 0.8)) {
    const cut = cutMiddle(line, limit);
    const shown = ACTIVE.test(cut) ? codeSpan(cut) : cut;
    if (new TextEncoder().encode(shown).length <= MAX_SUMMARY_BYTES) return shown;
  }
}

/** Its beginning and end, each made to a line by itself; of what lies between, only the length is looked at. */
function summaryOfLong(text: string): string {
  const half = LONGEST_LOOKED_AT / 2;
  const [head, tail] = [lineOf(text.slice(0, half)), lineOf(text.slice(-half))];
  for (let limit = MAX_SUMMARY_BYTES; ; limit = Math.floor(limit * 0.8)) {
    const [start, end] = [splitMiddle(head, limit)?.head ?? head, splitMiddle(tail, Math.floor(limit / 2))?.tail ?? tail];
    const cut = `${start.slice(0, limit)} …cut, ${text.length} characters in all… ${end}`;
    const shown = ACTIVE.test(cut) ? codeSpan(cut) : cut;
    if (new TextEncoder().encode(shown).length <= MAX_SUMMARY_BYTES) return shown;
  }
}

function lineOf(text: string): string {
  return visibleLine(text).replaceAll(/\s+/g, ' ').trim();
}
