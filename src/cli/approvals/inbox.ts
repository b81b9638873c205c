import { matchesPattern } from '../../common/match-pattern.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { printFact, printJson, printLine, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';
import { withStore } from '../output/with-store.ts';

export interface InboxOptions {
  agent?: string;
  user?: string;
  tenant?: string;
  tool?: string;
  limit: number;
  json?: boolean;
}

/** Conversations with calls that wait; far more than people can look through. */
const MOST_CONVERSATIONS = 10_000;

/** Prints the calls that wait for a person, oldest first. */
export function listApprovals(cli: Cli, { agent: agentId, user: userId, tenant: tenantId, tool, limit, json }: InboxOptions): Promise<void> {
  return withStore(cli, async ({ conversations }) => {
    const rows = await conversations.list({ ...withoutUndefined({ agentId, userId, tenantId }), hasApprovals: true, limit: MOST_CONVERSATIONS });
    const waiting = rows
      .flatMap(({ status: { pendingApprovals, ...status } }) => pendingApprovals.map((approval) => ({ ...status, approval })))
      .filter(({ approval }) => tool === undefined || matchesPattern(tool, approval.tool))
      .toSorted((one, other) => one.approval.requestedAtMs - other.approval.requestedAtMs);
    const shown = waiting.slice(0, limit);
    if (json) {
      const described = shown.map(({ conversationId, agentId: agent, userId: user, tenantId: tenant, approval }) => ({
        conversationId,
        agent,
        user,
        tenant,
        approval,
      }));
      return printJson(cli, described);
    }
    if (shown.length === 0) return printLine(cli, 'No call waits for a person.');
    const lines = shown.map(({ conversationId, agentId: agent, userId: user, approval: { callId, tool: wanted, requestedAtMs, why } }) => [
      new Date(requestedAtMs).toISOString().slice(0, 19).replace('T', ' '),
      conversationId,
      callId,
      agent,
      user,
      wanted,
      why,
    ]);
    printTable(cli, ['SINCE', 'CONVERSATION', 'CALL', 'AGENT', 'USER', 'TOOL', 'WHY'], lines);
    if (waiting.length > shown.length) printFact(cli, `… and ${waiting.length - shown.length} more: --limit ${waiting.length}`);
  });
}
