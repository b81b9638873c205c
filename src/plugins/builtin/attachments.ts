import { z } from 'zod';
import { SAVE_TOOL, type StoredMedia } from '../../contracts/attachments/media.ts';
import { definePlugin, defineTool, type Plugin } from '../api/define-plugin.ts';

const [PLUGIN_ID = '', TOOL_ID = ''] = SAVE_TOOL.split(':');
const LONGEST_ID = 'sha256:'.length + 64;
/** Digits of an id that are enough to name an attachment. */
const SHORT_ID = /^sha256:[0-9a-f]{12,64}$/;
const MOST_LISTED = 50;

/** The attachments of conversations. */
interface Attachments {
  list(conversationId: string): Promise<StoredMedia[]>;
  read(conversationId: string, blob: string): Promise<Uint8Array | undefined>;
}

/**
 * The plugin with which a model gets attachments of its conversation into the sandbox.
 * @param media those of all conversations; a call reaches only those of its own
 */
export function createAttachmentsPlugin(media: Attachments): Plugin {
  const save = defineTool({
    id: TOOL_ID,
    description:
      'Writes an attachment of this conversation (an image or a file that the user attached, or that a tool returned) to a path in the sandbox, in place of a file ' +
      'that is there. Missing directories are made.',
    parameters: z.strictObject({
      attachment: z.string().min(1).max(Math.max(LONGEST_ID, 200)).describe('Its name, or its id: sha256:… with 12 digits or more.'),
      path: z.string().min(1).max(4096).describe('Absolute, or relative to /home/user.'),
    }),
    annotations: { title: 'Save an attachment', destructiveHint: true, idempotentHint: true },
    requireApproval: false,
    isolation: 'container',
    summarize: ({ attachment, path }) => `${attachment} to ${path}`,
    async execute({ attachment, path }, { conversationId, sandbox }) {
      const all = await media.list(conversationId);
      const found = named(all, attachment);
      const [one] = found;
      if (!one || found.length > 1) return refusal(attachment, found, all);
      const data = await media.read(conversationId, one.blob);
      if (!data) return refusal(attachment, [], all);
      await (await sandbox.handle()).writeFile(path, data);
      return `Wrote ${one.bytes} bytes (${one.mediaType}) to ${path}.`;
    },
  });
  return definePlugin({ id: PLUGIN_ID, version: '1', description: 'Attachments of the conversation', tools: [save] });
}

function named(all: StoredMedia[], wanted: string): StoredMedia[] {
  return SHORT_ID.test(wanted) ? all.filter(({ blob }) => blob.startsWith(wanted)) : all.filter(({ name }) => name === wanted);
}

function refusal(wanted: string, found: StoredMedia[], all: StoredMedia[]) {
  const problem = found.length > 1 ? `${found.length} attachments are named ${JSON.stringify(wanted)}` : `No attachment is named ${JSON.stringify(wanted)}`;
  const listed = (found.length > 1 ? found : all).slice(-MOST_LISTED);
  const lines = listed.map(({ name, mediaType, bytes, blob }) => `- ${blob} ${JSON.stringify(name ?? '')} (${mediaType}, ${bytes} bytes)`);
  const left = (found.length > 1 ? found : all).length - listed.length;
  const more = left > 0 ? ` (the newest; ${left} older ones are left out)` : '';
  const text = lines.length === 0 ? `${problem}: this conversation has none.` : `${problem}. Name one by its id${more}:\n${lines.join('\n')}`;
  return { content: [{ type: 'text' as const, text }], isError: true };
}
