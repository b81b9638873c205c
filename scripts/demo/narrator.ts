import type { ConversationEvent } from '../../src/contracts/events.ts';
import { createNarration, type NarratedKind } from '../../src/cli/output/narrate.ts';
import { visibleText } from '../../src/contracts/visible-text.ts';

const WIDTH = 128;
const LABEL = 10;
/** Seconds and label, before the text. */
const MARGIN = LABEL + 9;
/** Less would put every word on a line of its own; a terminal that does not know its width says 0. */
const LEAST_ROOM = 30;
const COLOURS = { dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 };
type Colour = keyof typeof COLOURS;
/** The lines of the shared narration; those without a label are painted as a whole. */
const LABELS: Record<NarratedKind, string> = { user: 'user', call: 'tool', output: '', good: '', bad: '', note: 'note' };
const KIND_COLOURS: Record<NarratedKind, Colour> = { user: 'blue', call: 'cyan', output: 'dim', good: 'green', bad: 'red', note: 'yellow' };
/** The director has words of its own for these. */
const TOLD_BY_THE_DEMO = new Set<string>([
  'tool.approval-requested',
  'tool.approval-resolved',
  'conversation.paused',
  'conversation.resumed',
  'conversation.closed',
]);

/** Prints a conversation as it happens, with the seconds since the start. */
export class Narrator {
  readonly #startedAt = Date.now();
  readonly #coloured = process.stdout.isTTY && !process.env.NO_COLOR;
  #speech = '';
  readonly #narrate = createNarration();

  /** A line of the demo itself. */
  tell(text: string, colour: Colour = 'yellow'): void {
    this.#line('demo', text, colour);
  }

  event(event: ConversationEvent): void {
    if (event.type === 'text.delta') this.#speech += event.data.text;
    else if (event.type === 'step.started') this.#speech = '';
    else if (event.type === 'step.finished') this.#speak();
    else if (!TOLD_BY_THE_DEMO.has(event.type)) for (const { kind, text } of this.#narrate(event)) this.#line(LABELS[kind], text, KIND_COLOURS[kind]);
  }

  #speak(): void {
    for (const paragraph of visibleText(this.#speech).trim().split('\n')) if (paragraph !== '') this.#line('agent', paragraph, 'magenta');
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
