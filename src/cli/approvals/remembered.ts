import type { AllowedTool, ConversationStatus } from '../../client.ts';
import { failure } from '../../contracts/errors.ts';
import { printFact, printJson, printLine, withClient, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';
import { withStore } from '../output/with-store.ts';

/** Conversations that are read at once. */
const PAGE = 500;

interface Remembered extends AllowedTool {
  conversationId: string;
  agent: string;
  user: string;
  tenant: string;
}

/** Prints the tools that are allowed for the rest of conversations, in the order of their ids. */
export function listRemembered(cli: Cli, conversationId: string | undefined, json: boolean): Promise<void> {
  return withStore(cli, async ({ conversations }) => {
    const found: Remembered[] = [];
    if (conversationId !== undefined) {
      const row = await conversations.get(conversationId);
      if (!row) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
      found.push(...rememberedIn(row.status));
    } else {
      for (let afterId = ''; ;) {
        const rows = await conversations.listOpen({ afterId, limit: PAGE });
        found.push(...rows.flatMap(({ status }) => rememberedIn(status)));
        if (rows.length < PAGE) break;
        afterId = rows.at(-1)?.conversationId ?? '';
      }
    }
    if (json) return printJson(cli, found);
    if (found.length === 0) return printLine(cli, 'No tool is allowed for the rest of a conversation.');
    const lines = found.map(({ conversationId: id, agent, user, tool, by = '-', at, callId = '-' }) => [
      id,
      agent,
      user,
      tool,
      by,
      at?.slice(0, 19).replace('T', ' ') ?? '-',
      callId,
    ]);
    printTable(cli, ['CONVERSATION', 'AGENT', 'USER', 'TOOL', 'BY', 'SINCE', 'CALL'], lines);
  });
}

export function revokeRemembered(cli: Cli, conversationId: string, tool: string, options: { by?: string }): Promise<void> {
  return withClient(cli, async (longshore) => {
    const { revoked } = await longshore.revokeAllowed(conversationId, tool, options);
    printFact(cli, revoked ? `${tool} asks again from now on.` : `${tool} was not allowed for the rest of the conversation; nothing has changed.`);
  });
}

function rememberedIn({ conversationId, agentId: agent, userId: user, tenantId: tenant, allowedTools = [] }: ConversationStatus): Remembered[] {
  return allowedTools.map((allowed) => ({ conversationId, agent, user, tenant, ...allowed }));
}
