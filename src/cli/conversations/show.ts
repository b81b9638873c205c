import { Command } from 'commander';
import { shortTime } from '../../common/short-time.ts';
import type { ClientTools, WaitingCall } from '../../contracts/client-tool.ts';
import type { ConversationStatus, PauseReason, PendingApproval } from '../../contracts/conversation.ts';
import { nameOfMedia } from '../../contracts/attachments/media.ts';
import { cutOffText, type ContentPart, type StoredEntry } from '../../contracts/transcript.ts';
import { planLines } from '../../common/plan-text.ts';
import { roomText } from '../../contracts/hosts/room.ts';
import { placeText } from '../../contracts/places/turn-place.ts';
import { countDone } from '../../contracts/plan/plan.ts';
import { visibleLine, visibleText } from '../../contracts/visible-text.ts';
import { approvalText, callText, shownResultOf } from '../output/call-text.ts';
import { costText } from '../output/cost-text.ts';
import { printJson, printLine, withClient, type Cli } from '../output/cli.ts';
import { whereOf } from '../output/narrate.ts';

/** Width of the time before an entry. */
const MARGIN = 9;

interface ShowOptions {
  transcript?: boolean;
  json?: boolean;
}

export function showCommand(cli: Cli): Command {
  return new Command('show')
    .description('Show a conversation: its state, what it waits for, and what was said')
    .argument('<id>', 'conversation')
    .option('--transcript', 'with everything that was said and done')
    .option('--json', 'as JSON')
    .action((id: string, options: ShowOptions) =>
      withClient(
        cli,
        async (longshore) => {
          const status = await longshore.status(id);
          const transcript = options.transcript ? await longshore.transcript(id) : undefined;
          if (options.json) return printJson(cli, { ...status, ...(transcript && { transcript }) });
          for (const line of [...statusLines(status), ...(transcript ?? []).flatMap((entry) => entryLines(entry, status.conversationId))]) printLine(cli, line);
        },
        { lazy: true },
      ),
    );
}

/** Where it comes from, and what comes from it. */
function originLines(status: ConversationStatus): string[] {
  return [
    ...(status.scheduledBy ? [`started by schedule ${status.scheduledBy.scheduleId} for ${status.scheduledBy.at}`] : []),
    ...(status.forkedFrom ? [`fork of ${status.forkedFrom.conversationId}, after entry ${status.forkedFrom.transcriptSeq}`] : []),
    ...(status.importedFrom ? [`imported from ${status.importedFrom.conversationId}, as exported at ${status.importedFrom.exportedAt}`] : []),
    ...(status.forks ? [`forks of it: ${status.forks}; see: longshore ls --forks-of ${status.conversationId}`] : []),
    ...(status.parent ? [`sub-agent of ${status.parent.path.join(' > ')}, for the call ${status.parent.callId}`] : []),
  ];
}

function statusLines(status: ConversationStatus): string[] {
  const { paused, lastTurn } = status;
  const why = paused && reasonOf(paused);
  const lines = [
    `${status.conversationId}: ${status.state}${why === undefined ? '' : `, because ${why}`}`,
    `agent ${status.agentId}, user ${status.userId}, tenant ${status.tenantId}`,
    ...originLines(status),
    `sandbox ${status.sandboxTier}, ${status.turnsUsed} turns, ${status.tokensUsed} tokens${status.usage === undefined ? '' : ` (cost ${costText(status.usage)})`}, ${((status.storedBytes ?? 0) / 2 ** 20).toFixed(1)} MB stored, ${(status.workedMs / 1000).toFixed(1)} s at work, ${status.queued} messages waiting`,
    ...(status.waitsForPlace ? [placeText(status.waitsForPlace)] : []),
    ...(status.waitsForRoom ? [`its sandbox ${roomText(status.waitsForRoom)}`] : []),
    ...(lastTurn ? [`last turn ${lastTurn.outcome} at ${shortTime(lastTurn.at)}${lastTurn.message === undefined ? '' : `: ${lastTurn.message}`}`] : []),
    ...status.runningCalls.map(({ callId, tool }) => `running ${tool} (${callId})`),
    ...(status.waitingCalls ?? []).map(waitingLine),
    ...planOf(status),
  ];
  return [...lines.map(visibleLine), ...status.pendingApprovals.flatMap((pending) => approvalLines(status.conversationId, pending))];
}

function planOf({ plan = [] }: ConversationStatus): string[] {
  return plan.length === 0 ? [] : [`plan: ${countDone(plan)} of ${plan.length} done`, ...planLines(plan).map((line) => `  ${line}`)];
}

function waitingLine({ callId, tool, expiresAtMs }: WaitingCall): string {
  const until = expiresAtMs === undefined ? '' : `, until ${shortTime(new Date(expiresAtMs).toISOString())}`;
  return `waits for a client: ${tool} (${callId})${until}`;
}

function approvalLines(conversationId: string, { callId, tool, why, arguments: given, expiresAtMs }: PendingApproval): string[] {
  const shown = given ? approvalText(given) : visibleLine(`(long arguments: longshore show ${conversationId} --transcript --json)`);
  return [
    `waits for approval: ${visibleLine(tool)} ${shown}`,
    `  why: ${visibleLine(why)}`,
    ...(expiresAtMs > 0 ? [`  until: ${shortTime(new Date(expiresAtMs).toISOString())}`] : []),
    visibleLine(`  answer: longshore approve ${conversationId} ${callId} allow|allow-once|deny`),
  ];
}

function entryLines({ entry, at }: StoredEntry, conversationId: string): string[] {
  const time = at.slice(11, 19);
  if (entry.role === 'user') return ['', said(`${time} user: `, textOf(entry.content)), ...declaredLines(entry.clientTools)];
  if (entry.role === 'note') return [said(`${time} note: `, entry.text)];
  if (entry.role === 'tool') return resultLines(time, entry, conversationId);
  const parts = entry.parts.map((part) => {
    if (part.type === 'tool-call') return `${time} calls ${callText(part.tool, part.arguments)}`;
    return said(`${time} ${part.type === 'text' ? 'agent' : 'thinks'}: `, part.text);
  });
  return entry.cutOff ? [...parts, said(`${time} note: `, cutOffText(entry.cutOff))] : parts;
}

function declaredLines(tools: ClientTools | undefined): string[] {
  if (!tools) return [];
  const names = Object.keys(tools).join(', ');
  return [visibleLine(`${' '.repeat(MARGIN)}client tools from here on: ${names === '' ? 'none' : names}`)];
}

/** The lines after the first begin with a margin, so that none of them looks like an entry of its own. */
function said(label: string, text: string): string {
  return `${label}${visibleText(text).replaceAll('\n', `\n${' '.repeat(MARGIN)}`)}`;
}

function resultLines(time: string, { callId, tool, content, isError }: Extract<StoredEntry['entry'], { role: 'tool' }>, conversationId: string): string[] {
  const where = whereOf({ conversationId, data: { callId, tool } });
  const { headline, output } = shownResultOf({ isError, text: textOf(content), where });
  return [`${time} ${visibleLine(tool)} ${isError ? 'failed' : 'answered'}: ${headline}`, ...output.map((line) => `${' '.repeat(MARGIN)}│ ${line}`)];
}

function textOf(content: ContentPart[]): string {
  return content.map((part) => (part.type === 'text' ? part.text : nameOfMedia(part))).join('\n');
}

function reasonOf(paused: PauseReason): string {
  if (paused.by === 'budget') return `the budget of ${paused.exhausted} (${paused.limit}) ran out`;
  if (paused.by === 'approval') return `no answer in time to the approval of ${paused.tool} (${paused.callId})`;
  return paused.note ?? 'an operator asked for it';
}
