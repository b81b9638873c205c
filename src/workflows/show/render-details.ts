import type { WaitingCall } from '../../contracts/client-tool.ts';
import type { AllowedTool, BudgetKind, ConversationStatus, PauseReason } from '../../contracts/conversation.ts';
import { codeSpan } from '../../contracts/markdown.ts';
import { PLAN_MARKS } from '../../common/plan-text.ts';
import type { ShownForks } from '../../contracts/forks/fork.ts';
import type { WaitsForPlace } from '../../contracts/places/turn-place.ts';
import type { ShownPlan } from '../../contracts/plan/plan.ts';
import { cutMiddle, splitMiddle, visibleJson, visibleLine } from '../../contracts/visible-text.ts';
import { budgetLeft } from '../state/budget-state.ts';
import { openApprovals } from '../state/approval-state.ts';
import type { Approval, ConversationData } from '../state/conversation-data.ts';
import { statusOf } from '../state/conversation-status.ts';

const SHOWN_APPROVALS = 6;
const SHOWN_RUNNING = 12;
const SHOWN_WAITING = 6;
const SHOWN_PLAN_BYTES = 2_500;
const NO_PLAN: ShownPlan = { items: [], total: 0, done: 0 };
const SHOWN_ALLOWED = 6;
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
  lines.push(...renderOrigin(data, status));
  if (data.forks) lines.push(renderForks(data, data.forks));
  if (data.subAgents.length > 0) lines.push(renderSubAgents(data));
  if (status.runningCalls.length > 0) lines.push(renderRunning(status.runningCalls));
  if (status.waitingCalls) lines.push(renderWaiting(status.waitingCalls));
  if (status.waitsForPlace) lines.push(renderPlace(status.waitsForPlace));
  if (status.allowedTools) lines.push(renderAllowed(status.allowedTools));
  if (status.paused) lines.push(renderPause(status.paused));
  lines.push(...renderPlan(data.plan));
  const approvals = openApprovals(data);
  lines.push(...approvals.slice(0, SHOWN_APPROVALS).map(renderApproval));
  if (approvals.length > SHOWN_APPROVALS) lines.push(`… and ${approvals.length - SHOWN_APPROVALS} more: query \`pendingApprovals\`.`);
  if (data.serviceUrl !== undefined) lines.push(`In the HTTP API, with a key: ${conversationLink(data, status.conversationId)}`);
  return [...lines, HIDDEN_LINE].join('\n\n');
}

function renderRunning(calls: ConversationStatus['runningCalls']): string {
  const shown = calls.slice(0, SHOWN_RUNNING).map(({ callId, tool }) => code(`${tool} ${callId}`));
  const left = calls.length - shown.length;
  return `Running: ${shown.join(', ')}${left === 0 ? '' : `, and ${left} more`}`;
}

function renderAllowed(allowed: AllowedTool[]): string {
  const shown = allowed.slice(0, SHOWN_ALLOWED).map(({ tool }) => code(tool));
  const left = allowed.length - shown.length;
  return `Allowed for the rest of the conversation: ${shown.join(', ')}${left === 0 ? '' : `, and ${left} more`}. To take one back, send the update \`revokeAllowedTool\`.`;
}

function renderWaiting(calls: WaitingCall[]): string {
  const shown = calls.slice(0, SHOWN_WAITING).map(({ callId, tool, expiresAtMs }) => {
    const until = expiresAtMs === undefined ? '' : ` until ${new Date(expiresAtMs).toISOString()}`;
    return `${code(`${tool} ${callId}`)}${until}`;
  });
  const left = calls.length - shown.length;
  return `Waits for a client: ${shown.join(', ')}${left === 0 ? '' : `, and ${left} more`}`;
}

function renderPlace({ limit, name, running, allowed }: WaitsForPlace): string {
  const whose = limit === 'installation' ? 'the installation' : `${limit} ${code(name ?? '')}`;
  return `**Waits for a free place:** ${running} of ${allowed} running turns of ${whose}`;
}

/** Where it comes from, if no client started it. */
function renderOrigin(data: ConversationData, { scheduledBy, parent, forkedFrom, importedFrom }: ConversationStatus): string[] {
  return [
    ...(scheduledBy ? [`Started by schedule ${code(scheduledBy.scheduleId)} for ${code(scheduledBy.at)}`] : []),
    ...(parent ? [`Sub-agent of ${conversationLink(data, parent.conversationId)}, call ${code(parent.callId)}`] : []),
    ...(forkedFrom ? [`Fork of ${conversationLink(data, forkedFrom.conversationId)}, after entry ${forkedFrom.transcriptSeq}`] : []),
    ...(importedFrom ? [`Imported from ${code(importedFrom.conversationId)}, as exported at ${code(importedFrom.exportedAt)}`] : []),
  ];
}

/** A list of its own, which a line of text and an empty line have to precede. */
function renderPlan({ items, total, done }: ShownPlan = NO_PLAN): string[] {
  if (total === 0) return [];
  const lines = items.map(({ text, status }) => `- ${PLAN_MARKS[status]} ${code(text)}`);
  const fits = (count: number) => new TextEncoder().encode(lines.slice(0, count).join('\n')).length <= SHOWN_PLAN_BYTES;
  const shown = lines.filter((_, index) => fits(index + 1));
  const left = total - shown.length;
  return [`Plan, ${done} of ${total} done${left === 0 ? '' : `, ${left} not shown`}:`, ...(shown.length > 0 ? [shown.join('\n')] : [])];
}

function renderForks(data: ConversationData, { newest, total }: ShownForks): string {
  const left = total - newest.length;
  const more = left === 0 ? '' : `, … and ${left} more, see ${code(`longshore show ${data.conversationId}`)}`;
  return `Forks: ${newest.map((id) => conversationLink(data, id)).join(', ')}${more}`;
}

function renderSubAgents(data: ConversationData): string {
  const known = data.subAgents.flatMap(({ conversationId }) => conversationId ?? []);
  const waiting = data.subAgents.filter(({ share }) => share === undefined).length;
  return `Sub-agents: ${known.map((id) => conversationLink(data, id)).join(', ') || 'none yet'}${waiting === 0 ? '' : `, and ${waiting} that wait`}`;
}

/** The id finds the conversation in the Temporal UI; the link leads to the HTTP API. */
function conversationLink({ serviceUrl }: ConversationData, conversationId: string): string {
  return serviceUrl === undefined ? code(conversationId) : link(code(conversationId), `${serviceUrl}/v1/conversations/${conversationId}`);
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

/** `text` is Markdown. The address comes from the settings of a worker. Characters that would end the link or begin another are encoded. */
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
