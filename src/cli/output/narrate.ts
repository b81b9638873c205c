import type { ConversationEvent, EventData, EventOf, EventType } from '../../contracts/events.ts';
import { visibleLine, visibleText } from '../../contracts/visible-text.ts';
import { cleanOutput } from '../../sandbox/output/clean-output.ts';
import { approvalText, callText, moreLines, shownResultOf, shownLine } from './call-text.ts';

/** The kind of a line; readers choose labels and colours by it. */
export type NarratedKind = 'user' | 'call' | 'output' | 'good' | 'bad' | 'note';
/** One or more lines that can be printed as they are. */
export interface Narrated {
  kind: NarratedKind;
  text: string;
}

/** Most lines of output that are shown of one call while it runs. */
const OUTPUT_LINES = 24;

interface FollowedCall {
  /** The unfinished line of each stream. */
  partial: Record<'stdout' | 'stderr', string>;
  lines: number;
}

/**
 * Describes events for a person: calls with their command, output as it comes (bounded, with the place of the rest), exit code and time. The caller handles
 * the agent's own text, since it may want it as it comes or as paragraphs.
 */
export function createNarration(): (event: ConversationEvent) => Narrated[] {
  const calls = new Map<string, FollowedCall>();
  return (event) => {
    if (event.type === 'tool.output') return outputOf(calls, event.data);
    if (event.type === 'tool.finished') return [...restOf(calls, event), ...resultLines(calls, event)];
    if (event.type === 'tool.unknown') calls.delete(event.data.callId);
    const narrate = NARRATIONS[event.type] as ((data: ConversationEvent['data']) => Narrated | undefined) | undefined;
    const narrated = narrate?.(event.data);
    return narrated ? [narrated] : [];
  };
}

/** The description of each event; other events are not shown. */
const NARRATIONS: { [Type in EventType]?: (data: EventOf<Type>['data']) => Narrated | undefined } = {
  'message.received': (data) => ({ kind: 'user', text: visibleText(data.text) }),
  'tool.requested': (data) => ({
    kind: 'call',
    text: `→ ${data.arguments ? callText(data.tool, data.arguments) : `${visibleLine(data.tool)} (${data.argumentsBytes} bytes of arguments)`}`,
  }),
  'message.sent': (data) => ({
    kind: 'note',
    text: data.part.type === 'text' ? visibleText(data.part.text) : `[${data.part.type} ${visibleLine(data.part.mediaType)}] from ${visibleLine(data.tool)}`,
  }),
  'tool.unknown': (data) => ({ kind: 'bad', text: `? ${visibleLine(data.tool)}: it is not known whether it took effect. ${visibleLine(data.why)}` }),
  'tool.approval-requested': (data) => ({
    kind: 'note',
    text: `! ${visibleLine(data.tool)} waits for approval (${visibleLine(data.callId)}): ${visibleLine(data.why)}\n  ${approvalText(data.arguments)}`,
  }),
  'tool.approval-resolved': (data) => ({
    kind: 'note',
    text: `! ${visibleLine(data.tool)}: ${data.answer}${data.by === undefined ? '' : ` by ${visibleLine(data.by)}`}`,
  }),
  'conversation.paused': (data) => ({ kind: 'note', text: `⏸ paused${data.note === undefined ? '' : `: ${visibleLine(data.note)}`}` }),
  'conversation.resumed': () => ({ kind: 'note', text: '▶ goes on' }),
  'conversation.closed': () => ({ kind: 'note', text: 'The conversation is closed.' }),
  'budget.exhausted': (data) => ({ kind: 'bad', text: `! the budget of ${data.exhausted} ran out (${data.limit})` }),
  'turn.finished': (data) =>
    data.outcome === 'finished'
      ? undefined
      : { kind: 'bad', text: `The turn ended as ${data.outcome}${data.message === undefined ? '' : `: ${visibleLine(data.message)}`}` },
  note: (data) => ({ kind: 'note', text: `note: ${visibleText(data.text)}` }),
};

/** Shows whole lines only: a carriage return or an escape code of a terminal may arrive in pieces. */
function outputOf(calls: Map<string, FollowedCall>, { callId, stream, text }: EventData['tool.output']): Narrated[] {
  const call = calls.get(callId) ?? { partial: { stdout: '', stderr: '' }, lines: 0 };
  calls.set(callId, call);
  const lines = (call.partial[stream] + text).split('\n');
  call.partial[stream] = lines.pop() ?? '';
  return shownLines(call, lines);
}

function shownLines(call: FollowedCall, lines: string[]): Narrated[] {
  const cleaned = lines.length === 0 ? [] : cleanOutput(lines.join('\n')).split('\n');
  const room = Math.max(0, OUTPUT_LINES - call.lines);
  call.lines += cleaned.length;
  return cleaned.slice(0, room).map((line) => ({ kind: 'output', text: `  │ ${shownLine(line)}` }));
}

function restOf(calls: Map<string, FollowedCall>, event: EventOf<'tool.finished'>): Narrated[] {
  const call = calls.get(event.data.callId);
  if (!call) return [];
  const last = Object.values(call.partial).filter((text) => text !== '');
  const lines = shownLines(call, last);
  const left = call.lines - OUTPUT_LINES;
  return left > 0 ? [...lines, { kind: 'output', text: `  │ ${moreLines(left, whereOf(event))}` }] : lines;
}

function resultLines(calls: Map<string, FollowedCall>, event: EventOf<'tool.finished'>): Narrated[] {
  const { callId, tool, isError, text, durationMs } = event.data;
  const followed = calls.delete(callId);
  const { good, headline, output } = shownResultOf({ isError, text, durationMs, where: whereOf(event) });
  // The output of a command was shown as it came.
  const body = followed ? [] : output.map((line): Narrated => ({ kind: 'output', text: `  │ ${line}` }));
  return [...body, { kind: good ? 'good' : 'bad', text: `${good ? '✓' : '✗'} ${visibleLine(tool)}  ${headline}` }];
}

/** Where all of a call's output can be read. */
export function whereOf({ conversationId, data: { callId, tool } }: { conversationId: string; data: { callId: string; tool: string } }): string {
  const id = visibleLine(conversationId);
  return tool === 'shell:run' ? `longshore sandbox logs ${id} ${visibleLine(callId)}-1` : `longshore show ${id} --json --transcript`;
}
