import type { ClientTools } from '../contracts/client-tool.ts';
import type { StoredMedia } from '../contracts/attachments/media.ts';
import { failure } from '../contracts/errors.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { Database } from './database/database.ts';
import { lacksConversation } from './database/database-failures.ts';
import { toJsonText } from './database/json-text.ts';
import type { Store } from './store.ts';

const PUT = `insert into messages (conversation_id, message_id, text, output, attachments, client_tools) values ($1, $2, $3, $4, $5, $6)
  on conflict do nothing returning 1`;
const READ = 'select text, attachments, client_tools from messages where conversation_id = $1 and message_id = $2';
const GET = 'select text from messages where conversation_id = $1 and message_id = $2';
const OUTPUT_OF = 'select output from messages where conversation_id = $1 and message_id = $2';

interface MessageRow {
  text: string;
  attachments: StoredMedia[] | null;
  client_tools: ClientTools | null;
}

export function createMessages({ database }: { database: Database }): Store['messages'] {
  return {
    async put(conversationId, messageId, text, { output, attachments = [], clientTools } = {}) {
      const beside = [output, attachments.length > 0 ? attachments : undefined, clientTools];
      const values = [conversationId, messageId, text, ...beside.map((part) => (part ? toJsonText(part) : null))];
      try {
        return (await database.query('messages.put', PUT, values)).length > 0;
      } catch (error) {
        throw lacksConversation(error) ? failure('CONVERSATION_NOT_FOUND', { conversationId }) : error;
      }
    },
    async get(conversationId, messageId) {
      const [found] = await database.query<{ text: string }>('messages.get', GET, [conversationId, messageId]);
      return found?.text;
    },
    async read(conversationId, messageId) {
      const [found] = await database.query<MessageRow>('messages.read', READ, [conversationId, messageId]);
      return found && { text: found.text, attachments: found.attachments ?? [], ...(found.client_tools && { clientTools: found.client_tools }) };
    },
    async outputOf(conversationId, messageId) {
      const [found] = await database.query<{ output: JsonObject | null }>('messages.outputOf', OUTPUT_OF, [conversationId, messageId]);
      return found?.output ?? undefined;
    },
  };
}
