import { Command } from 'commander';
import type { ConversationStatus, PauseReason, PendingApproval } from '../contracts/conversation.ts';
import type { ContentPart, StoredEntry } from '../contracts/transcript.ts';
import { printJson, printLine, withClient, type Cli } from './cli.ts';

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
          for (const line of [...statusLines(status), ...(transcript ?? []).flatMap(entryLines)]) printLine(cli, line);
        },
        { lazy: true },
      ),
    );
}

function statusLines(status: ConversationStatus): string[] {
  const { paused } = status;
  const why = paused && reasonOf(paused);
  return [
    `${status.conversationId}: ${status.state}${why === undefined ? '' : `, because ${why}`}`,
    `agent ${status.agentId}, user ${status.userId}, tenant ${status.tenantId}`,
    ...(status.scheduledBy ? [`started by schedule ${status.scheduledBy.scheduleId} for ${status.scheduledBy.at}`] : []),
    `sandbox ${status.sandboxTier}, ${status.turnsUsed} turns, ${status.tokensUsed} tokens, ${(status.workedMs / 1000).toFixed(1)} s at work, ${status.queued} messages waiting`,
    ...status.runningCalls.map(({ callId, tool }) => `running ${tool} (${callId})`),
    ...status.pendingApprovals.flatMap((pending) => approvalLines(status.conversationId, pending)),
  ];
}

function approvalLines(conversationId: string, { callId, tool, why, arguments: given, expiresAtMs }: PendingApproval): string[] {
  return [
    `waits for approval: ${tool} ${given ? JSON.stringify(given) : '(long arguments: see --transcript)'}`,
    `  why: ${why}`,
    ...(expiresAtMs > 0 ? [`  until: ${new Date(expiresAtMs).toISOString().slice(0, 19).replace('T', ' ')}`] : []),
    `  answer: longshore approve ${conversationId} ${callId} allow|allow-once|deny`,
  ];
}

function entryLines({ entry, at }: StoredEntry): string[] {
  const time = at.slice(11, 19);
  if (entry.role === 'user') return ['', `${time} user: ${textOf(entry.content)}`];
  if (entry.role === 'note') return [`${time} note: ${entry.text}`];
  if (entry.role === 'tool') return [`${time} ${entry.tool} ${entry.isError ? 'failed' : 'answered'}: ${textOf(entry.content)}`];
  return entry.parts.map((part) => {
    if (part.type === 'tool-call') return `${time} calls ${part.tool} ${JSON.stringify(part.arguments)}`;
    return `${time} ${part.type === 'text' ? 'agent' : 'thinks'}: ${part.text}`;
  });
}

function textOf(content: ContentPart[]): string {
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type} ${part.mediaType}]`)).join('\n');
}

function reasonOf(paused: PauseReason): string {
  if (paused.by === 'budget') return `the budget of ${paused.exhausted} (${paused.limit}) ran out`;
  if (paused.by === 'approval') return `nobody answered in time whether ${paused.tool} may run (${paused.callId})`;
  return paused.note ?? 'an operator asked for it';
}
