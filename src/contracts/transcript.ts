import type { JsonObject } from './json.ts';
import type { Usage } from './usage.ts';

/** A piece of content given to a model or a user; `data` is base 64. */
export type ContentPart =
  { type: 'text'; text: string } | { type: 'image'; mediaType: string; data: string } | { type: 'file'; mediaType: string; name: string; data: string };

export type AssistantPart =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string; providerMetadata?: JsonObject }
  | {
      type: 'tool-call';
      callId: string;
      tool: string;
      arguments: JsonObject;
      /** What was wrong with arguments that were not a JSON object; such a call never runs. */
      unreadable?: string;
      providerMetadata?: JsonObject;
    };

/** One entry of a conversation's transcript, which the model reads. A `note` comes from Longshore itself (a lost sandbox, an edited call). */
export type TranscriptEntry =
  | { role: 'user'; content: ContentPart[] }
  | { role: 'assistant'; parts: AssistantPart[]; usage?: Usage }
  | { role: 'tool'; callId: string; tool: string; content: ContentPart[]; isError: boolean }
  | { role: 'note'; text: string };

/** The answer of a model, with what it used. */
export type Answer = TranscriptEntry & { role: 'assistant'; usage: Usage };

/** A transcript entry as stored: `seq` orders the conversation, and `turnId` and `stepId` say where the entry belongs. */
export interface StoredEntry {
  seq: number;
  turnId: string;
  stepId?: string;
  at: string;
  entry: TranscriptEntry;
}
