import type { ToolContext } from '../../../api/define-plugin.ts';

/** The facts about its caller that a handler of MaiBot receives. */
export function callerOf({ conversationId, userId }: Pick<ToolContext, 'conversationId' | 'userId'>) {
  return { stream_id: conversationId, chat_id: conversationId, group_id: '', user_id: userId, platform: 'longshore' };
}
