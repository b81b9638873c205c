import type { ConversationEvent } from '../contracts/events.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { Cli } from './cli.ts';

const LONGEST_LINE = 200;
const OUTPUT_LINES = 8;

/** Prints events for a person as they come: the agent's words as it speaks, its tool calls and their results. */
export function createEventPrinter(cli: Cli): (event: ConversationEvent) => void {
  let isMidLine = false;
  let attempt: number | undefined;
  const speak = (text: string) => {
    if (text === '') return;
    cli.out.write(text);
    isMidLine = !text.endsWith('\n');
  };
  const say = (text: string) => {
    cli.out.write(`${isMidLine ? '\n' : ''}${text}\n`);
    isMidLine = false;
  };
  return (event) => {
    if (event.type === 'text.delta') {
      if (attempt !== undefined && event.attempt !== undefined && event.attempt > attempt) say('(the model was cut off; once more)');
      attempt = event.attempt;
      return speak(textOf(event.data['text']));
    }
    if (event.type === 'step.finished') attempt = undefined;
    const line = describe(event);
    if (line !== undefined) say(line);
  };
}

function describe({ type, data }: ConversationEvent): string | undefined {
  const describeOne = DESCRIPTIONS[type];
  return describeOne?.(data);
}

const DESCRIPTIONS: Partial<Record<ConversationEvent['type'], (data: JsonObject) => string | undefined>> = {
  'tool.requested': (data) => `→ ${textOf(data['tool'])} ${shorten(JSON.stringify(data['arguments'] ?? {}))}`,
  'tool.output': (data) => indent(textOf(data['text'])),
  'tool.finished': (data) => `${data['isError'] === true ? '✗' : '✓'} ${textOf(data['tool'])} ${shorten(textOf(data['text']).split('\n')[0] ?? '')}`,
  'tool.unknown': (data) => `? ${textOf(data['tool'])}: nobody can know whether it took effect. ${textOf(data['why'])}`,
  'tool.approval-requested': (data) =>
    `! ${textOf(data['tool'])} waits for approval (${textOf(data['callId'])}): ${textOf(data['why'])}\n  ${JSON.stringify(data['arguments'] ?? {})}`,
  'tool.approval-resolved': (data) => `! ${textOf(data['tool'])}: ${textOf(data['answer'])}${data['by'] === undefined ? '' : ` by ${textOf(data['by'])}`}`,
  'conversation.paused': (data) => `⏸ paused${data['note'] === undefined ? '' : `: ${textOf(data['note'])}`}`,
  'conversation.resumed': () => '▶ goes on',
  'conversation.closed': () => 'The conversation is closed.',
  'budget.exhausted': (data) => `! the budget of ${textOf(data['exhausted'])} ran out (${JSON.stringify(data['limit'])})`,
  'turn.finished': (data) =>
    data['outcome'] === 'finished' ? '' : `The turn ended as ${textOf(data['outcome'])}${data['message'] === undefined ? '' : `: ${textOf(data['message'])}`}`,
  note: (data) => `note: ${textOf(data['text'])}`,
};

/** The end of what a command wrote; the whole is in its sandbox. */
function indent(text: string): string {
  const lines = text.trimEnd().split('\n').slice(-OUTPUT_LINES);
  return lines.map((line) => `  │ ${shorten(line)}`).join('\n');
}

function shorten(text: string): string {
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
