import type { ConversationEvent } from '../../src/contracts/events.ts';
import type { JsonObject } from '../../src/contracts/json.ts';
import { textOf } from './text-of.ts';

const WIDTH = 128;
const LABEL = 10;
/** Seconds and label, before the text. */
const MARGIN = LABEL + 9;
/** Less would put every word on a line of its own; a terminal that does not know its width says 0. */
const LEAST_ROOM = 30;
const OUTPUT_LINES = 4;
const COLOURS = { dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 };
type Colour = keyof typeof COLOURS;

/** Prints a conversation as it happens, with the seconds since the start. */
export class Narrator {
  readonly #startedAt = Date.now();
  readonly #coloured = process.stdout.isTTY && !process.env.NO_COLOR;
  #speech = '';
  /** Calls whose output is a command's own. */
  readonly #commands = new Set<string>();

  /** A line of the demo itself. */
  tell(text: string, colour: Colour = 'yellow'): void {
    this.#line('demo', text, colour);
  }

  event(event: ConversationEvent): void {
    const { type, data } = event;
    if (type === 'text.delta') this.#speech += textOf(data.text);
    else if (type === 'step.started') this.#speech = '';
    else if (type === 'step.finished') this.#speak();
    else this.#describe(type, data);
  }

  #describe(type: ConversationEvent['type'], data: JsonObject): void {
    if (type === 'message.received') this.#line('user', textOf(data.text), 'blue');
    if (type === 'tool.requested') {
      this.#line('tool', `${textOf(data.tool)}  ${inputOf(data.arguments)}`, 'cyan');
      if (textOf(data.tool).startsWith('shell:')) this.#commands.add(textOf(data.callId));
    }
    if (type === 'tool.output' && this.#commands.has(textOf(data.callId))) {
      const lines = textOf(data.text)
        .split('\n')
        .filter((line) => line.trim() !== '');
      for (const line of lines.slice(-OUTPUT_LINES)) this.#line('', `│ ${line}`, 'dim');
    }
    if (type === 'tool.finished') this.#line('', resultOf(data), data.isError ? 'red' : 'green');
    if (type === 'tool.unknown') this.#line('', `? nobody can know whether it took effect: ${textOf(data.why)}`, 'red');
    if (type === 'note') this.#line('note', textOf(data.text), 'yellow');
  }

  #speak(): void {
    for (const paragraph of this.#speech.trim().split('\n')) if (paragraph !== '') this.#line('agent', paragraph, 'magenta');
    this.#speech = '';
  }

  #line(label: string, text: string, colour: Colour): void {
    const seconds = `${((Date.now() - this.#startedAt) / 1000).toFixed(1)} s`.padStart(7);
    const room = Math.max(LEAST_ROOM, Math.min(process.stdout.columns || WIDTH, WIDTH) - MARGIN);
    const [first = '', ...rest] = wrap(text, room);
    const indent = ' '.repeat(MARGIN);
    const body = [first, ...rest.map((line) => indent + line)].join('\n');
    console.log(
      `${this.#paint(seconds, 'dim')}  ${this.#paint(label.padEnd(LABEL), colour)}${label === '' || label === 'demo' ? this.#paint(body, colour) : body}`,
    );
  }

  #paint(text: string, colour: Colour): string {
    return this.#coloured ? `\u001B[${COLOURS[colour]}m${text}\u001B[0m` : text;
  }
}

function inputOf(input: unknown): string {
  const { command, path, pattern } = (input ?? {}) as JsonObject;
  return textOf(command ?? (pattern === undefined ? path : `${textOf(pattern)} in ${textOf(path)}`)).slice(0, 110);
}

function resultOf(data: JsonObject): string {
  const text = textOf(data.text);
  const seconds = `${(Number(data.durationMs) / 1000).toFixed(1)} s`;
  const mark = data.isError ? '✗' : '✓';
  try {
    const result = JSON.parse(text) as JsonObject;
    if (typeof result.exitCode === 'number') return `${result.exitCode === 0 ? '✓' : '✗'} exit code ${result.exitCode}, ${seconds}`;
  } catch {
    // Not every result is JSON.
  }
  return `${mark} ${text.split('\n')[0]?.slice(0, 90) ?? ''} (${seconds})`;
}

function wrap(text: string, room: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > room) {
    const space = rest.lastIndexOf(' ', room);
    const at = space > 0 ? space : room;
    lines.push(rest.slice(0, at));
    rest = rest.slice(at).trimStart();
  }
  return [...lines, rest];
}
