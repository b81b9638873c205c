import type { ConversationEvent, EventOf, EventType } from '../contracts/events.ts';
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
      return speak(event.data.text);
    }
    if (event.type === 'step.finished') attempt = undefined;
    const line = describe(event);
    if (line !== undefined) say(line);
  };
}

function describe(event: ConversationEvent): string | undefined {
  const describeOne = DESCRIPTIONS[event.type] as ((data: ConversationEvent['data']) => string) | undefined;
  return describeOne?.(event.data);
}

/** What a person is told of an event; of the others nothing. */
const DESCRIPTIONS: { [Type in EventType]?: (data: EventOf<Type>['data']) => string } = {
  'tool.requested': (data) => `→ ${data.tool} ${shorten(JSON.stringify(data.arguments))}`,
  'message.sent': (data) => (data.part.type === 'text' ? data.part.text : `[${data.part.type} ${data.part.mediaType}] from ${data.tool}`),
  'tool.output': (data) => indent(data.text),
  'tool.finished': (data) => `${data.isError ? '✗' : '✓'} ${data.tool} ${shorten(data.text.split('\n')[0] ?? '')}`,
  'tool.unknown': (data) => `? ${data.tool}: nobody can know whether it took effect. ${data.why}`,
  'tool.approval-requested': (data) => `! ${data.tool} waits for approval (${data.callId}): ${data.why}\n  ${JSON.stringify(data.arguments)}`,
  'tool.approval-resolved': (data) => `! ${data.tool}: ${data.answer}${data.by === undefined ? '' : ` by ${data.by}`}`,
  'conversation.paused': (data) => `⏸ paused${data.note === undefined ? '' : `: ${data.note}`}`,
  'conversation.resumed': () => '▶ goes on',
  'conversation.closed': () => 'The conversation is closed.',
  'budget.exhausted': (data) => `! the budget of ${data.exhausted} ran out (${data.limit})`,
  'turn.finished': (data) => (data.outcome === 'finished' ? '' : `The turn ended as ${data.outcome}${data.message === undefined ? '' : `: ${data.message}`}`),
  note: (data) => `note: ${data.text}`,
};

/** The end of what a command wrote; the whole is in its sandbox. */
function indent(text: string): string {
  const lines = text.trimEnd().split('\n').slice(-OUTPUT_LINES);
  return lines.map((line) => `  │ ${shorten(line)}`).join('\n');
}

function shorten(text: string): string {
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text;
}
