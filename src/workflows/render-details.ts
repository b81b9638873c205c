import type { BudgetKind, PauseReason } from '../contracts/conversation.ts';
import { codeSpan } from '../contracts/markdown.ts';
import { cutMiddle, splitMiddle, visibleJson, visibleLine } from '../contracts/visible-text.ts';
import { budgetLeft } from './state/budget-state.ts';
import { openApprovals } from './state/approval-state.ts';
import type { Approval, ConversationData } from './state/conversation-data.ts';
import { statusOf } from './state/conversation-status.ts';

const SHOWN_APPROVALS = 6;
/** Six approvals of this length, of characters that take three bytes each, stay below Temporal's 20 000 bytes. */
const SHOWN_ARGUMENTS = 600;
const SHOWN_TEXT = 140;
/** The Temporal UI makes the field for the text some 30 pixels too small and hides the last line; this line is empty and may be hidden. */
const HIDDEN_LINE = '\u00A0';

/** The text that an operator reads in the Temporal UI: the state, and what to do. Markdown; far below Temporal's limit of 20 000 bytes. */
export function renderDetails(data: ConversationData, nowMs: number): string {
  const status = statusOf(data, nowMs);
  const budget = budgetLeft(data, nowMs).map(({ kind, left }) => `${kind} ${amountOf(kind, left)}`);
  const lines = [
    `**${status.state}**${status.turnId === undefined ? '' : ` · turn ${status.turnId}, step ${status.stepsUsed}`} · sandbox ${status.sandboxTier} · ${status.queued} waiting`,
    `Budget left: ${budget.length === 0 ? 'unlimited' : budget.join(', ')}`,
  ];
  if (status.scheduledBy) lines.push(`Started by schedule ${code(status.scheduledBy.scheduleId)} for ${code(status.scheduledBy.at)}`);
  if (status.runningCalls.length > 0) lines.push(`Running: ${status.runningCalls.map(({ callId, tool }) => code(`${tool} ${callId}`)).join(', ')}`);
  if (status.paused) lines.push(renderPause(status.paused));
  const approvals = openApprovals(data);
  lines.push(...approvals.slice(0, SHOWN_APPROVALS).map(renderApproval));
  if (approvals.length > SHOWN_APPROVALS) lines.push(`… and ${approvals.length - SHOWN_APPROVALS} more: query \`pendingApprovals\`.`);
  if (data.serviceUrl !== undefined)
    lines.push(`In the HTTP API, with a key: ${link(status.conversationId, `${data.serviceUrl}/v1/conversations/${status.conversationId}`)}`);
  return [...lines, HIDDEN_LINE].join('\n\n');
}

function amountOf(kind: BudgetKind, left: number): string {
  if (kind === 'wallTime') return `${Math.round(left / 1000)} s`;
  return kind === 'cost' ? `$${left}` : String(left);
}

function renderPause(paused: NonNullable<ConversationData['paused']>): string {
  const why = reasonOf(paused);
  const press =
    paused.by === 'budget' && paused.exhausted !== 'steps'
      ? ` with a grant such as ${paused.exhausted === 'cost' ? '`{"extraCostUsd": 5}`' : '`{"extraTurns": 10, "extraTokens": 100000, "extraWallTimeMs": 600000}`'}`
      : '';
  return `**Paused:** ${why}. To go on, send the signal \`resume\`${press}.`;
}

function renderApproval({ pending: { callId, tool, hash, why, arguments: given }, link: page }: Approval): string {
  const shown =
    given === undefined ? 'Arguments: too large to show here; see the transcript' : renderArguments(callId, visibleJson(given).replaceAll('`', '\\u0060'));
  const answer = JSON.stringify({ callId, hash, answer: 'allow-once' }, null, 2);
  return [
    `**Approve ${code(tool)}?** ${code(why)}`,
    shown,
    ...(page ? [`Decide on ${link('its page', page.url)}, without a key, once, until ${new Date(page.expiresAtMs).toISOString()}. Or:`] : []),
    'Send the update `resolveApproval` (answer `allow`, `allow-once` or `deny`):',
    `\`\`\`json\n${answer}\n\`\`\``,
  ].join('\n\n');
}

/** A cut in long arguments is marked, and their end is shown: a command could be appended there. */
function renderArguments(callId: string, json: string): string {
  const cut = splitMiddle(json, SHOWN_ARGUMENTS);
  if (!cut) return `Arguments: ${codeSpan(json)}`;
  const { head, left, tail } = cut;
  return `Arguments: ${codeSpan(head)} **cut, ${left} more characters** ${codeSpan(tail)} — read all of them before you allow it: query \`pendingApprovals\`, call ${code(callId)}.`;
}

/** The address comes from the settings of a worker. Characters that would end the link or begin another are encoded. */
function link(text: string, url: string): string {
  return `[${text}](${url.replaceAll(/[^!-~]|[()<>[\]\\`"]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)})`;
}

/** Untrusted text, in one line; it must not become Markdown. */
function code(text: string): string {
  return codeSpan(cutMiddle(visibleLine(text).replaceAll(/\s+/g, ' '), SHOWN_TEXT));
}

function reasonOf(paused: PauseReason): string {
  if (paused.by === 'budget') return `${paused.exhausted} ran out (limit ${paused.limit})`;
  if (paused.by === 'approval') return `no answer in time to the approval of ${code(paused.tool)}`;
  return code(paused.note ?? 'by an operator');
}
