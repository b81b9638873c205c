import { shortTime } from '../../common/short-time.ts';
import { nameOfMedia, type AttachmentFacts } from '../../contracts/attachments/media.ts';
import type { ConversationEvent, EventData, EventOf, EventType } from '../../contracts/events.ts';
import { planLines } from '../../common/plan-text.ts';
import { roomText } from '../../contracts/hosts/room.ts';
import { placeText } from '../../contracts/places/turn-place.ts';
import { countDone } from '../../contracts/plan/plan.ts';
import { cutOffText } from '../../contracts/transcript.ts';
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
  /** Bytes of each stream that were shown. */
  told: Record<'stdout' | 'stderr', number>;
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

const COMPACTED = { outputs: 'old results are left out', summary: 'older steps are summed up', cut: 'long texts are cut' } as const;

/** The description of each event; other events are not shown. */
const NARRATIONS: { [Type in EventType]?: (data: EventOf<Type>['data']) => Narrated | undefined } = {
  'message.received': ({ text, attachments = [] }) => ({
    kind: 'user',
    text: [visibleText(text), ...attachments.map(attachmentLine)].filter((line) => line !== '').join('\n'),
  }),
  'turn.waiting': (data) => ({ kind: 'note', text: `… the turn ${visibleLine(placeText(data))}` }),
  'sandbox.waiting': (data) => ({ kind: 'note', text: `… the sandbox ${visibleLine(roomText(data))}` }),
  'step.finished': ({ cutOff }) => (cutOff ? { kind: 'bad', text: `! ${cutOffText(cutOff)}` } : undefined),
  'tool.requested': (data) => ({
    kind: 'call',
    text: `→ ${data.arguments ? callText(data.tool, data.arguments) : `${visibleLine(data.tool)} (${data.argumentsBytes} bytes of arguments)`}`,
  }),
  'message.sent': (data) => ({
    kind: 'note',
    text: data.part.type === 'text' ? visibleText(data.part.text) : `${visibleLine(nameOfMedia(data.part))} from ${visibleLine(data.tool)}`,
  }),
  'tool.unknown': (data) => ({ kind: 'bad', text: `? ${visibleLine(data.tool)}: it is not known whether it took effect. ${visibleLine(data.why)}` }),
  'tool.judged': (data) => ({
    kind: 'note',
    text: `⚖ ${visibleLine(data.tool)}: ${data.verdict === 'allow' ? 'allowed by the judge' : 'handed over to a person'}: ${visibleLine(data.reason)}`,
  }),
  'tool.waiting': (data) => ({
    kind: 'note',
    text: `… ${visibleLine(data.tool)} waits for a client (${visibleLine(data.callId)})${data.deadline === undefined ? '' : `, until ${shortTime(data.deadline)}`}`,
  }),
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
  'tool.approval-revoked': (data) => ({
    kind: 'note',
    text: `↺ ${visibleLine(data.tool)} asks again${data.by === undefined ? '' : `, says ${visibleLine(data.by)}`}`,
  }),
  'checkpoint.created': (data) => ({ kind: 'note', text: `▪ checkpoint ${visibleLine(data.checkpointId)}: ${data.changed} changed, ${data.addedBytes} bytes` }),
  'checkpoint.failed': (data) => ({ kind: 'bad', text: `! no checkpoint: ${visibleLine(data.problem)}` }),
  'conversation.rewound': (data) => ({ kind: 'note', text: `↶ as it was at ${visibleLine(data.checkpointId)}; take it back with ${visibleLine(data.before)}` }),
  'conversation.forked': (data) => ({ kind: 'note', text: `⑂ forked as ${visibleLine(data.conversationId)}` }),
  'fork.ready': () => ({ kind: 'note', text: '⑂ the fork has its files' }),
  'fork.failed': (data) => ({ kind: 'bad', text: `! the fork could not get its files: ${visibleLine(data.problem)}` }),
  'agent.started': (data) => ({ kind: 'note', text: `▷ ${visibleLine(data.agent)} works in ${visibleLine(data.conversationId)}` }),
  'agent.ended': (data) => ({ kind: 'note', text: `◁ ${visibleLine(data.conversationId)}: ${data.outcome}, ${data.tokens} tokens` }),
  'answer.refused': (data) => ({ kind: 'note', text: `! the answer does not fit: ${visibleLine(data.problems)}` }),
  'context.compacted': (data) => ({ kind: 'note', text: `⇣ ${COMPACTED[data.stage]}: about ${data.tokensAfter} tokens of ${data.tokensBefore} are left` }),
  'context.restored': () => ({ kind: 'note', text: '⇡ what was left out of the prompts is back' }),
  'plan.changed': ({ items }) => ({
    kind: 'note',
    text: [`☰ plan: ${countDone(items)} of ${items.length} done`, ...planLines(items).map((line) => `  ${line}`)].join('\n'),
  }),
  'budget.exhausted': (data) => ({ kind: 'bad', text: `! the budget of ${data.exhausted} ran out (${data.limit})` }),
  'turn.finished': (data) =>
    data.outcome === 'finished'
      ? undefined
      : { kind: 'bad', text: `The turn ended as ${data.outcome}${data.message === undefined ? '' : `: ${visibleLine(data.message)}`}` },
  note: (data) => ({ kind: 'note', text: `note: ${visibleText(data.text)}` }),
};

function attachmentLine({ name, mediaType, bytes }: AttachmentFacts): string {
  return visibleLine(`[attached: ${name}, ${mediaType}, ${bytes} bytes]`);
}

/** Shows whole lines only: a carriage return or an escape code of a terminal may arrive in pieces. */
function outputOf(calls: Map<string, FollowedCall>, { callId, stream, offset, bytes, text }: EventData['tool.output']): Narrated[] {
  const call = calls.get(callId) ?? { partial: { stdout: '', stderr: '' }, told: { stdout: 0, stderr: 0 }, lines: 0 };
  calls.set(callId, call);
  // Two workers that both believed that they owned the call may both have logged its output.
  if (offset < call.told[stream]) return [];
  call.told[stream] = offset + bytes;
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
