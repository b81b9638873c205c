import type { ToolContext } from '../../../api/define-plugin.ts';

/** What a handler of MaiBot is told of its caller. */
export function callerOf({ conversationId, userId }: ToolContext) {
  return { stream_id: conversationId, chat_id: conversationId, group_id: '', user_id: userId, platform: 'longshore' };
}
