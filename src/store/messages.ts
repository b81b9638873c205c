import { failure } from '../contracts/errors.ts';
import type { Database } from './database/database.ts';
import { lacksConversation } from './database/database-failures.ts';
import type { Store } from './store.ts';

const PUT = 'insert into messages (conversation_id, message_id, text) values ($1, $2, $3) on conflict do nothing';
const GET = 'select text from messages where conversation_id = $1 and message_id = $2';

export function createMessages({ database }: { database: Database }): Store['messages'] {
  return {
    async put(conversationId, messageId, text) {
      try {
        await database.query('messages.put', PUT, [conversationId, messageId, text]);
      } catch (error) {
        throw lacksConversation(error) ? failure('CONVERSATION_NOT_FOUND', { conversationId }) : error;
      }
    },
    async get(conversationId, messageId) {
      const [found] = await database.query<{ text: string }>('messages.get', GET, [conversationId, messageId]);
      return found?.text;
    },
  };
}
