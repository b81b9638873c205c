import type { ProposedCall } from '../../contracts/activities.ts';
import type { AllowedTool } from '../../contracts/conversation.ts';
import type { ConversationData } from './conversation-data.ts';

/** Keeps that a person has allowed a tool for the rest of the conversation. */
export function allowTool(data: ConversationData, allowed: AllowedTool): void {
  if (data.allowedTools.includes(allowed.tool)) return;
  data.allowedTools.push(allowed.tool);
  data.allowances.push(allowed);
}

/** Takes that back for calls about which is decided from now on; false when the tool is not allowed. */
export function revokeTool(data: ConversationData, tool: string, by?: string): boolean {
  if (!data.allowedTools.includes(tool)) return false;
  data.allowedTools = data.allowedTools.filter((other) => other !== tool);
  data.allowances = data.allowances.filter((other) => other.tool !== tool);
  const place = data.turn && { turnId: data.turn.turnId };
  data.outbox.push({ type: 'tool.approval-revoked', ...place, data: { tool, ...(by !== undefined && { by }) } });
  return true;
}

/** Who has allowed a tool and when is not known of conversations that earlier versions have begun. */
export function allowedTools({ allowedTools: tools, allowances }: ConversationData): AllowedTool[] {
  return tools.map((tool) => allowances.find((allowed) => allowed.tool === tool) ?? { tool });
}

/** Calls that may run since their tool was allowed, and whose tool was revoked while the model was asked, are asked about after all. */
export function askAgain(data: ConversationData, calls: ProposedCall[]): void {
  for (const call of calls) {
    if (call.remembered && !data.allowedTools.includes(call.tool)) Object.assign(call, { decision: 'ask', why: `${call.tool} is not allowed any more` });
  }
}
