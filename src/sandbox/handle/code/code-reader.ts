import { GrowingBytes } from '../../../common/lines/growing-bytes.ts';
import { isObject, type Json } from '../../../contracts/json.ts';
import { inexactNumberIn, tryParseForeign } from '../../../contracts/foreign-json.ts';
import { PROTOCOL } from '../../protocol/protocol.ts';
import type { Mask } from '../secrets/mask.ts';
import type { CodeResult, CodeValue, RunCodeOptions } from '../../api/code.ts';

/** `KEPT_TEXT` characters are kept of the head of each stream, and as many of its tail. */
const { partCharacters: MAX_PART, keptCharacters: KEPT_TEXT, values: MAX_VALUES, valuesBytes: MAX_VALUE_SIZE } = PROTOCOL.code;
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** How an interpreter cuts a part of an error that has more than a million characters, and how many it leaves before that. */
const CUT = /\n… \d+ characters left out …\n/g;
const BEFORE_CUT = 500_000;

export interface CodeReader {
  push(chunk: Buffer): void;
  end(): Pick<CodeResult, 'stdout' | 'stderr' | 'truncated' | 'leftOut' | 'values' | 'executionCount'> & {
    ended: { error?: NonNullable<CodeResult['error']> } | undefined;
  };
}

/** Reads the lines of an interpreter. The guest may have forged them: what is not valid is left out. Memory and time are bounded. */
export function createCodeReader({ onOutput, onResult }: Pick<RunCodeOptions, 'onOutput' | 'onResult'> = {}, mask?: Mask): CodeReader {
  const streams = createStreams(onOutput, mask);
  const values: CodeValue[] = [];
  let valueSize = 0;
  let truncated = false;
  const leftOut = { values: 0, bytes: 0 };
  let executionCount: number | undefined;
  let ended: { error?: NonNullable<CodeResult['error']> } | undefined;

  const takeValue = (data: Json | undefined, size: number): void => {
    if (!isObject(data)) return;
    valueSize += size;
    if (values.length < MAX_VALUES && valueSize <= MAX_VALUE_SIZE) {
      const value = mask ? withMaskedEnd(data, mask) : data;
      values.push(value);
      onResult?.(value);
    } else leftOut.values += 1;
  };
  const take = (line: Buffer): void => {
    const text = line.toString();
    const message = tryParseForeign(text);
    if (message === undefined) leftOut.bytes += line.length;
    if (!isObject(message)) return;
    switch (message['type']) {
      case 'started':
        executionCount = typeof message['count'] === 'number' ? message['count'] : undefined;
        return;
      case 'stdout':
      case 'stderr':
        return streams.push(message['type'], textOf(message['text']));
      case 'result':
        return takeValue(inexactNumberIn(text) === undefined ? message['data'] : withoutJson(message['data']), line.length);
      case 'ended':
        ended = toEnd(message['error'], mask);
        if (message['cut'] === true) truncated = true;
        if (typeof message['untold'] === 'number') leftOut.bytes += message['untold'];
        return;
      default:
    }
  };
  return {
    push: createLineSplitter(take, (bytes) => (leftOut.bytes += bytes)),
    end() {
      const { stdout, stderr } = streams.end();
      return {
        stdout: stdout.text(),
        stderr: stderr.text(),
        truncated: truncated || stdout.isCut() || stderr.isCut() || leftOut.values + leftOut.bytes > 0,
        ...(leftOut.values + leftOut.bytes > 0 && { leftOut }),
        values,
        ...(executionCount !== undefined && { executionCount }),
        ended,
      };
    },
  };
}

/** Its text has all digits of its numbers. */
function withoutJson(data: Json | undefined): Json | undefined {
  if (!isObject(data) || typeof data['text/plain'] !== 'string') return data;
  const { 'application/json': _, ...rest } = data;
  return rest;
}

function createLineSplitter(onLine: (line: Buffer) => void, onTooLong: (bytes: number) => void): (chunk: Buffer) => void {
  const pending = new GrowingBytes();
  /** Of a line that is too long, and whose bytes are only counted. */
  let isTooLong = false;
  return (chunk) => {
    let rest = chunk;
    for (let newline = rest.indexOf(10); newline >= 0; newline = rest.indexOf(10)) {
      const last = rest.subarray(0, newline);
      if (pending.length === 0) onLine(last);
      else {
        pending.add(last);
        onLine(pending.take());
      }
      isTooLong = false;
      rest = rest.subarray(newline + 1);
    }
    // Our interpreters never write such a long line.
    if (isTooLong || pending.length + rest.length > MAX_LINE_BYTES) {
      onTooLong(pending.take().length + rest.length);
      isTooLong = true;
    } else pending.add(rest);
  };
}

type StreamName = 'stdout' | 'stderr';

/** What the code prints. Of a secret that is printed in several parts, each is in a line of its own: these are masked together. */
function createStreams(onOutput: RunCodeOptions['onOutput'], mask: Mask | undefined) {
  const texts = { stdout: createText(), stderr: createText() };
  const masked = mask && { stdout: mask.stream(), stderr: mask.stream() };
  const give = (stream: StreamName, text: string): void => {
    if (text === '') return;
    texts[stream].add(text);
    onOutput?.(stream, text);
  };
  return {
    push: (stream: StreamName, text: string) => give(stream, masked ? masked[stream].push(Buffer.from(text)).toString() : text),
    end() {
      for (const stream of ['stdout', 'stderr'] as const) give(stream, masked?.[stream].end().toString() ?? '');
      return texts;
    },
  };
}

function createText(): { add(text: string): void; text(): string; isCut(): boolean } {
  let head = '';
  let tail = '';
  let left = 0;
  return {
    add(text) {
      const room = KEPT_TEXT - head.length;
      head += text.slice(0, Math.max(0, room));
      tail += text.slice(Math.max(0, room));
      if (tail.length <= 2 * KEPT_TEXT) return;
      left += tail.length - KEPT_TEXT;
      tail = tail.slice(-KEPT_TEXT);
    },
    text: () => (left === 0 ? head + tail : `${head}\n… ${left} characters left out …\n${tail}`),
    isCut: () => left > 0,
  };
}

function toEnd(error: Json | undefined, mask: Mask | undefined): { error?: NonNullable<CodeResult['error']> } {
  if (!isObject(error)) return {};
  const partOf = (name: string) => (mask ? maskedAtCut(textOf(error[name]), mask) : textOf(error[name]));
  return { error: { type: partOf('type'), message: partOf('message'), traceback: partOf('traceback') } };
}

/** The interpreter does not know which texts are secrets, and may have cut one. */
function maskedAtCut(text: string, mask: Mask): string {
  CUT.lastIndex = BEFORE_CUT;
  const mark = text.length > 2 * BEFORE_CUT ? CUT.exec(text) : null;
  if (!mark) return text;
  const { head, tail } = mask.edges(text.slice(0, mark.index), text.slice(CUT.lastIndex));
  return head + mark[0] + tail;
}

/** The same for the text of a value, of which the interpreter keeps the beginning. */
function withMaskedEnd(data: CodeValue, mask: Mask): CodeValue {
  const text = data['text/plain'];
  if (typeof text !== 'string' || text.length < MAX_PART) return data;
  return { ...data, 'text/plain': mask.edges(text, '').head };
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
