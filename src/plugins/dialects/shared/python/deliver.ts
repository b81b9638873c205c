import { z } from 'zod';
import { MAX_TIMER_TEXT, MOST_TIMERS, TOO_MANY_TIMERS } from '../../../../contracts/plugins/timer.ts';
import type { ContentPart } from '../../../../contracts/transcript.ts';
import type { ToolContext } from '../../../api/define-plugin.ts';
import type { TimersOfPlugin } from './reached.ts';

const path = z.string().min(1).max(4096);

/** A part of a message to the user. */
export const partSchema = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('image'), mediaType: z.string(), data: z.string() }),
  z.object({ type: z.literal('image'), mediaType: z.string(), path }),
  z.object({ type: z.literal('file'), mediaType: z.string(), name: z.string().min(1).max(200), path }),
  z.object({ type: z.literal('file'), mediaType: z.string(), name: z.string().min(1).max(200), data: z.string() }),
]);

/** The year 3000. */
const LAST_SECOND = 32_503_680_000;

/** A timer, as a plugin wishes it; `due` in seconds since 1970. */
export const timerSchema = z.object({ due: z.int().min(0).max(LAST_SECOND), text: z.string().max(MAX_TIMER_TEXT), temporary: z.boolean() });

/** Ids of timers that the call itself has set begin with `+`. */
const timerId = z.string().regex(/^[\w.+-]{1,200}$/);

/** What a plugin gives to the conversation with the answer to a call. Contents that are large are in files of its sandbox. */
export const givenSchema = z.object({
  /** For the user, in this order. */
  sent: z.array(partSchema).max(1_000).default([]),
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
  /** What it has changed of its timers in the conversation, in this order. */
  timers: z
    .array(
      z.union([z.object({ set: timerSchema.extend({ id: z.string().regex(/^\+\d{1,4}$/) }) }), z.object({ clear: z.array(timerId).max(2 * MOST_TIMERS) })]),
    )
    .max(1_000)
    .default([]),
});

const MOST_SENT_BYTES = 10 * 1024 * 1024;
const MOST_FILE_BYTES = 20 * 1024 * 1024;

/** Directory of the conversation's sandbox that gets the files of a call. */
export function directoryFor({ callId }: Pick<ToolContext, 'callId'>): string {
  return `/home/user/files/${callId}`;
}

/** Gives it to the conversation. It is in the journal, so another worker does the same; messages, notes and timers of a call count once. */
export async function deliver({ sent, notes, files, timers }: z.infer<typeof givenSchema>, context: ToolContext, of: TimersOfPlugin): Promise<void> {
  const read: ReadFile = async (from, maxBytes) => (await context.sandbox.handle()).readFile(from, { maxBytes });
  for (const { name, path: from } of files) {
    await context.files.put({ bytes: await read(from, MOST_FILE_BYTES), name }, { directory: directoryFor(context) });
  }
  for (const part of sent) await context.send(await contentOf(part, read));
  for (const { text, wake } of notes) await context.note(text, { wake });
  for (const change of timers) await changeTimers(change, context, of);
}

async function changeTimers(
  change: z.infer<typeof givenSchema>['timers'][number],
  { conversationId, callId }: ToolContext,
  timers: TimersOfPlugin,
): Promise<void> {
  const idOf = (id: string) => (id.startsWith('+') ? `${callId}${id}` : id);
  if ('clear' in change) return timers.clear(conversationId, { timerIds: change.clear.map(idOf) });
  const { id, due, ...timer } = change.set;
  // A conversation that was closed meanwhile needs no timer.
  if ((await timers.set(conversationId, { ...timer, timerId: idOf(id), dueMs: due * 1000 })) === 'full') throw new Error(TOO_MANY_TIMERS);
}

/** Reads a file of the plugin's sandbox. */
export type ReadFile = (path: string, maxBytes: number) => Promise<Uint8Array>;

/** A part with its content. */
export async function contentOf(part: z.infer<typeof partSchema>, read: ReadFile): Promise<ContentPart> {
  if (!('path' in part)) return part;
  const { path: from, ...about } = part;
  return { ...about, data: Buffer.from(await read(from, MOST_SENT_BYTES)).toString('base64') };
}
