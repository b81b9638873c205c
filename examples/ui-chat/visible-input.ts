/** Characters that are not seen, look like a space, or move others: a page that shows them as they are shows another command than the one that would run. */
const DECEIVING = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u00A0\u1680\u2000-\u200A\u202F\u205F]|(?<=\p{M}{4})\p{M}/gu;

/** What a call would do, as JSON in which a person who decides about it sees every character. */
export function visibleInput(input: unknown): string {
  return (JSON.stringify(input) ?? '').replaceAll(DECEIVING, (character) =>
    Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}
