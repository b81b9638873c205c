import type { ExecSpec } from '../../protocol/supervisor-connection.ts';

/** The kernel takes no longer argument than this, with its end. Bytes. */
const MAX_ARGUMENT_BYTES = 131_071;
/** A character has four bytes at most, so no part of so many characters is longer. */
const PART_CHARACTERS = 32_000;

/** A bash command; one that is too long for an argument is put together again by bash itself, from several. */
export function toRun(command: string): ExecSpec['run'] {
  if (Buffer.byteLength(command) <= MAX_ARGUMENT_BYTES) return { command };
  const parts = split(command);
  const names = parts.map((_part, index) => `\${${index + 1}}`).join('');
  return { argv: ['/bin/bash', '-c', `eval "set --\n${names}"`, '/bin/bash', ...parts] };
}

/** No pair of surrogates is parted. */
function split(text: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = at + PART_CHARACTERS;
    const isPair = /[\uD800-\uDBFF]/.test(text.charAt(end - 1));
    parts.push(text.slice(at, isPair ? end + 1 : end));
    at = isPair ? end + 1 : end;
  }
  return parts;
}
