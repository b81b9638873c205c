import { z } from 'zod';
import { type ContentPart, RECALL_TOOL, type StoredEntry } from '../../contracts/transcript.ts';
import { definePlugin, defineTool, type Plugin } from '../api/define-plugin.ts';
import { findEntries } from './find-entries.ts';
import { describeEntry, textOfEntry } from './entry-text.ts';

const [PLUGIN_ID = '', TOOL_ID = ''] = RECALL_TOOL.split(':');
const DEFAULT_CHARACTERS = 8_000;
const MOST_CHARACTERS = 20_000;
/** Bytes of a piece: less than what a result may have before its middle is cut. */
const MOST_BYTES = 30_000;

/**
 * The plugin with which a model reads what its prompt leaves out.
 * @param transcriptOf all entries of a conversation
 */
export function createContextPlugin(transcriptOf: (conversationId: string) => Promise<StoredEntry[]>): Plugin {
  const recall = defineTool({
    id: TOOL_ID,
    description:
      'Reads earlier parts of this conversation that are left out of what you see. Give words to find the entries that contain them, or the number of an entry to ' +
      'read it, in pieces when it is long.',
    parameters: z.strictObject({
      query: z.string().min(1).max(400).optional().describe('Words or a phrase, as they stand in the entry.'),
      entry: z.int().min(1).optional().describe('Number of an entry.'),
      offset: z.int().min(0).default(0).describe('First character of the entry to read.'),
      characters: z.int().min(100).max(MOST_CHARACTERS).default(DEFAULT_CHARACTERS).describe(`Characters to read, at most ${MOST_CHARACTERS}.`),
    }),
    annotations: { title: 'Recall', readOnlyHint: true, idempotentHint: true },
    requireApproval: false,
    summarize: ({ query, entry }) => query ?? `entry ${entry ?? ''}`,
    async execute({ query, entry, offset, characters }, { conversationId }) {
      const transcript = await transcriptOf(conversationId);
      if (entry !== undefined) return readEntry(transcript, entry, offset, characters);
      if (query !== undefined) return findEntries(transcript, query);
      return refusal('Give words as "query", or a number as "entry".');
    },
  });
  return definePlugin({ id: PLUGIN_ID, version: '1', description: 'Earlier parts of the conversation', tools: [recall] });
}

function readEntry(transcript: StoredEntry[], wanted: number, offset: number, characters: number) {
  const stored = transcript.find(({ seq }) => seq === wanted);
  if (!stored) return refusal(`There is no entry ${wanted}. Find entries with "query".`);
  const text = textOfEntry(stored.entry);
  const piece = pieceOf(text, offset, characters);
  const end = offset + piece.length;
  const more = end < text.length ? ` Go on with {"entry": ${wanted}, "offset": ${end}}.` : '';
  const head = `${describeEntry(stored)}, characters ${offset} to ${end} of ${text.length}.${more}`;
  return { content: [{ type: 'text' as const, text: `${head}\n${piece}` }, ...(offset === 0 ? mediaOf(stored) : [])] };
}

/** Both halves of a character stay together. */
function pieceOf(text: string, offset: number, characters: number): string {
  let [length, bytes] = [0, 0];
  for (const character of text.slice(offset, offset + characters + 1)) {
    bytes += Buffer.byteLength(character);
    if (bytes > MOST_BYTES || length + character.length > characters) break;
    length += character.length;
  }
  return text.slice(offset, offset + length);
}

function mediaOf({ entry }: StoredEntry): ContentPart[] {
  return entry.role === 'tool' || entry.role === 'user' ? entry.content.filter(({ type }) => type !== 'text') : [];
}

function refusal(text: string) {
  return { content: [{ type: 'text' as const, text }], isError: true };
}
