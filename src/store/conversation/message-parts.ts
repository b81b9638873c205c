import type { StoredMedia } from '../../contracts/attachments/media.ts';
import type { ClientTools } from '../../contracts/client-tool.ts';
import type { JsonObject } from '../../contracts/json.ts';

export interface StoredMessage {
  text: string;
  attachments: StoredMedia[];
  /** What the message declares; absent: nothing. */
  clientTools?: ClientTools | undefined;
}

/** What a message has besides its text. */
export type MessageParts = Partial<Omit<StoredMessage, 'text'>> & { output?: JsonObject | undefined };
