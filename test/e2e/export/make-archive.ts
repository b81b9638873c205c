import { buffer } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import { pack, type Header } from 'tar-stream';

export type Item = Partial<Header> & { name: string; text?: string; bytes?: Buffer };

export const ABOUT = {
  format: 'longshore-conversation',
  version: 1,
  madeBy: 'longshore 0.0.0',
  exportedAt: '2027-01-31T09:00:00.000Z',
  conversationId: 'conv_elsewhere',
  agentId: 'talker',
  userId: 'user-9',
};
export const at = '2027-01-30T09:00:00.000Z';

/** A transcript with these entries. */
export function archiveOf(entries: object[], more: Item[] = [], about: object = {}): Promise<Buffer> {
  const lines = entries.map((entry, index) => ({ seq: index + 1, turnId: 'turn_1', at, entry }));
  const counted = { transcript: { count: lines.length, lastSeq: lines.length }, events: { count: 0, lastSeq: 0 } };
  return packed([
    { name: 'conversation.json', text: JSON.stringify({ ...ABOUT, ...counted, ...about }) },
    { name: 'transcript.jsonl', text: lines.map((line) => `${JSON.stringify(line)}\n`).join('') },
    ...more,
  ]);
}

/** The bytes of a `.tar.gz`. */
export function packed(items: Item[]): Promise<Buffer> {
  const tar = pack();
  for (const { text = '', bytes = Buffer.from(text), ...header } of items) tar.entry(header, bytes);
  tar.finalize();
  return buffer(tar.pipe(createGzip()));
}
