import type { ExecSpec } from '../../protocol/supervisor-connection.ts';

/** The longest argument that the kernel accepts, without its terminating NUL. Bytes. */
const MAX_ARGUMENT_BYTES = 131_071;
/** A character has at most four bytes, so a part of this many characters fits into an argument. */
const PART_CHARACTERS = 32_000;

/** A bash command. One that is too long for an argument is split into several, which bash joins again. */
export function toRun(command: string): ExecSpec['run'] {
  if (Buffer.byteLength(command) <= MAX_ARGUMENT_BYTES) return { command };
  const parts = split(command);
  const names = parts.map((_part, index) => `\${${index + 1}}`).join('');
  return { argv: ['/bin/bash', '-c', `eval "set --\n${names}"`, '/bin/bash', ...parts] };
}

/** Does not split surrogate pairs. */
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
