import { z } from 'zod';
import type { ContentPart } from '../../../../contracts/transcript.ts';
import type { ToolContext } from '../../../api/define-plugin.ts';

const path = z.string().min(1).max(4096);

/** What a plugin gives to the conversation with the answer to a call. Contents that are large are in files of its sandbox. */
export const givenSchema = z.object({
  /** For the user, in this order. */
  sent: z
    .array(
      z.union([
        z.object({ type: z.literal('text'), text: z.string() }),
        z.object({ type: z.literal('image'), mediaType: z.string(), data: z.string() }),
        z.object({ type: z.literal('image'), mediaType: z.string(), path }),
        z.object({ type: z.literal('file'), mediaType: z.string(), name: z.string().min(1).max(200), path }),
        z.object({ type: z.literal('file'), mediaType: z.string(), name: z.string().min(1).max(200), data: z.string() }),
      ]),
    )
    .max(1_000)
    .default([]),
  /** For the model. */
  notes: z
    .array(z.object({ text: z.string(), wake: z.boolean() }))
    .max(100)
    .default([]),
  /** For the conversation's sandbox. */
  files: z
    .array(z.object({ name: z.string(), path }))
    .max(100)
    .default([]),
});

const MOST_SENT_BYTES = 10 * 1024 * 1024;
const MOST_FILE_BYTES = 20 * 1024 * 1024;

/** Directory of the conversation's sandbox that gets the files of a call. */
export function directoryFor({ callId }: Pick<ToolContext, 'callId'>): string {
  return `/home/user/files/${callId}`;
}

/** Gives it to the conversation. It is in the journal, so another worker does the same; messages and notes of a call count once. */
export async function deliver({ sent, notes, files }: z.infer<typeof givenSchema>, context: ToolContext): Promise<void> {
  for (const { name, path: from } of files) {
    await context.files.put({ bytes: await read(from, context, MOST_FILE_BYTES), name }, { directory: directoryFor(context) });
  }
  for (const part of sent) await context.send(await contentOf(part, context));
  for (const { text, wake } of notes) await context.note(text, { wake });
}

async function contentOf(part: z.infer<typeof givenSchema>['sent'][number], context: ToolContext): Promise<ContentPart> {
  if (!('path' in part)) return part;
  const { path: from, ...about } = part;
  return { ...about, data: Buffer.from(await read(from, context, MOST_SENT_BYTES)).toString('base64') };
}

async function read(from: string, { sandbox }: ToolContext, maxBytes: number): Promise<Uint8Array> {
  return (await sandbox.handle()).readFile(from, { maxBytes });
}
