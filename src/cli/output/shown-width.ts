/** Scripts and symbols that take two columns of a terminal: those of East Asia, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/gu;
/** Drawn over the letter before them. */
const MARKS = /\p{M}/gu;

/** Columns of a terminal that a visible text takes. */
export function shownWidth(text: string): number {
  const letters = text.replaceAll(MARKS, '');
  return Array.from(letters).length + (letters.match(WIDE)?.length ?? 0);
}
