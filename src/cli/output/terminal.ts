import { StringDecoder } from 'node:string_decoder';
import { finished } from 'node:stream/promises';
import type { Writable } from 'node:stream';
import { visibleText } from '../../contracts/visible-text.ts';

export type OutputStream = Writable & { isTTY?: boolean; columns?: number; rows?: number; hasColors?: () => boolean };

/** Where a command prints. All text for a terminal goes through it: untrusted text is shown and never interpreted. */
export interface Output {
  readonly isTTY: boolean;
  /** Prints text as `visibleText` shows it; a line of more than 20,000 characters is cut and marked. */
  print(text: string): void;
  /** Prints one line in the same way, coloured on a terminal; `NO_COLOR` turns that off. */
  printColoured(text: string, colour: Colour | undefined): void;
  /** Prints JSON lines of any length, which are already escaped. */
  printJson(json: string): void;
  /** Returns to the beginning of the line and clears it; only on terminals. */
  clearLine(): void;
  /**
   * Writes the output of a program, and waits when the reader is slow. A terminal gets it as `visibleText`, and so does every other stream with
   * `escape: 'always'`; `never` is for people who request the raw bytes.
   */
  program(escape: 'on-terminal' | 'always' | 'never'): ProgramWriter;
  /** The stream itself, for code that drives a terminal: readline, and terminals of sandboxes that a person requested. */
  readonly stream: OutputStream;
}

export interface ProgramWriter {
  put(chunk: Uint8Array): Promise<void>;
  /** Writes the remaining part of an incomplete character or line break. */
  end(): Promise<void>;
}

const LONGEST_LINE = 20_000;
const COLOURS = { bold: 1, red: 31, green: 32, cyan: 36 } as const;
export type Colour = keyof typeof COLOURS;

export function createOutput(stream: OutputStream): Output {
  const isTTY = stream.isTTY === true;
  return {
    isTTY,
    stream,
    print: (text) => void stream.write(cutLines(visibleText(text))),
    printColoured(text, colour) {
      const shown = cutLines(visibleText(text)).replace(/\n$/, '');
      const isColoured = colour !== undefined && isTTY && stream.hasColors?.() === true;
      stream.write(isColoured ? `\u001B[${COLOURS[colour]}m${shown}\u001B[0m\n` : `${shown}\n`);
    },
    printJson: (json) => void stream.write(visibleText(json)),
    clearLine: () => void (isTTY && stream.write('\r\u001B[K')),
    program: (escape) => (escape === 'always' || (escape === 'on-terminal' && isTTY) ? visibleWriter(stream) : rawWriter(stream)),
  };
}

function cutLines(text: string): string {
  if (text.length <= LONGEST_LINE) return text;
  return text
    .split('\n')
    .map((line) => (line.length <= LONGEST_LINE ? line : `${line.slice(0, LONGEST_LINE)} …cut, ${line.length - LONGEST_LINE} more characters in this line`))
    .join('\n');
}

function rawWriter(stream: Writable): ProgramWriter {
  return { put: patientWriter(stream), end: async () => undefined };
}

/** Characters and line breaks may arrive in two pieces. */
function visibleWriter(stream: Writable): ProgramWriter {
  const decoder = new StringDecoder('utf8');
  const write = patientWriter(stream);
  let held = '';
  return {
    put(chunk) {
      const text = held + decoder.write(Buffer.from(chunk));
      held = text.endsWith('\r') ? '\r' : '';
      return write(visibleText(text.slice(0, text.length - held.length)));
    },
    end: () => write(visibleText(held + decoder.end())),
  };
}

/** Waits when the reader is slow; a reader that has closed its end gets nothing more. */
function patientWriter(stream: Writable): (chunk: Uint8Array | string) => Promise<void> {
  // Many chunks may be under way: with listeners for each, Node.js would warn of a leak between the messages of the command.
  let waiting: Promise<void> | undefined;
  return async (chunk) => {
    if (stream.destroyed || chunk.length === 0 || stream.write(chunk)) return;
    waiting ??= untilDrained(stream).finally(() => (waiting = undefined));
    await waiting;
  };
}

async function untilDrained(stream: Writable): Promise<void> {
  const gone = new AbortController();
  let drained = (): void => undefined;
  const draining = new Promise<void>((resolve) => stream.once('drain', (drained = resolve)));
  try {
    await Promise.race([draining, finished(stream, { signal: gone.signal, cleanup: true }).catch(() => undefined)]);
  } finally {
    gone.abort();
    // The next wait has its own: without a reader, none of them would end.
    stream.off('drain', drained);
  }
}
