/**
 * Everything that a terminal or a reader does not show as a character of its own: controls (C0, C1), formats (bidi overrides and isolates, zero-width
 * characters, tags), lone surrogates, private and unassigned code points, line separators, fillers, variation selectors, and the Braille blank.
 */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** More combining marks than any script needs on one letter would be drawn over the lines above and below. */
const STACKED_MARKS = /(?<=\p{M}{4})\p{M}/gu;
const LOOKS_LIKE_SPACE = /[\u00A0\u1680\u2000-\u200A\u202F\u205F]/g;
/** Variation selectors and joiners of emoji: the same symbols are shown without them. */
const EMOJI_PRESENTATION =
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}])(?:[\uFE0E\uFE0F](?:\u200D(?=\p{Extended_Pictographic}))?|\u200D(?=\p{Extended_Pictographic}))/gu;
const TAB = '    ';

/** Untrusted text for people: line breaks stay, and every character that would be invisible becomes an escape such as `\u202e`. */
export function visibleText(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').replaceAll('\t', TAB).replaceAll(EMOJI_PRESENTATION, '');
  return lines.replaceAll(HIDDEN, (character) => (character === '\n' ? character : escape(character))).replaceAll(STACKED_MARKS, escape);
}

/** The same for a single line, such as a name or a cell of a table: a line break becomes an escape too. */
export function visibleLine(text: string): string {
  return visibleText(text).replaceAll('\n', '\\n');
}

/** A value as JSON without invisible characters, which parses to the same value. */
export function visibleJson(value: unknown, indent?: number): string {
  return visibleJsonText(JSON.stringify(value, undefined, indent) ?? 'null');
}

/** The same for JSON text of another program; its values do not change. */
export function visibleJsonText(json: string): string {
  return json
    .replaceAll(HIDDEN, (character) => (character === '\n' || character === '\t' ? character : escapeUnits(character)))
    .replaceAll(STACKED_MARKS, escapeUnits)
    .replaceAll(LOOKS_LIKE_SPACE, escapeUnits);
}

/** The beginning and the end of a text, with a note between them about the cut; `limit` counts characters, without the note. */
export function cutMiddle(text: string, limit: number): string {
  const parts = splitMiddle(text, limit);
  return parts ? `${parts.head} …cut, ${parts.left} more characters… ${parts.tail}` : text;
}

/** Head, tail and the number of characters between them; undefined when the text is short enough. Two thirds are head. */
export function splitMiddle(text: string, limit: number): { head: string; left: number; tail: string } | undefined {
  if (text.length <= limit) return undefined;
  const characters = Array.from(text);
  if (characters.length <= limit) return undefined;
  const headLength = Math.ceil((limit * 2) / 3);
  const tailLength = limit - headLength;
  const tail = tailLength === 0 ? '' : characters.slice(-tailLength).join('');
  return { head: characters.slice(0, headLength).join(''), left: characters.length - limit, tail };
}

function escape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : escapeUnits(character);
}

/** As JSON writes it: one escape for each UTF-16 unit. */
function escapeUnits(character: string): string {
  return Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
}

/** Describes what Postgres or UTF-8 cannot store without a change of the text. Undefined for a text that is stored as it is. */
export function unstorable(text: string): string | undefined {
  const nul = text.indexOf('\0');
  if (nul !== -1) return `a NUL character at position ${nul}`;
  const surrogate = text.search(/\p{Cs}/u);
  return surrogate === -1 ? undefined : `half a character (a lone surrogate) at position ${surrogate}`;
}
