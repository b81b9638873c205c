import { Readable } from 'node:stream';
import type { ImportCalls, ImportReport } from '../../contracts/imports/import.ts';
import { createChat } from '../create-chat.ts';
import { archiveOf, importOptions } from '../import/import-options.ts';
import type { Chat, Longshore } from '../types.ts';
import type { HttpLink } from './http-link.ts';

export function createHttpImport(link: HttpLink, longshore: () => Longshore): ImportCalls<Chat> {
  return {
    async import(archive, given) {
      const source = archiveOf(archive);
      const { files, ...rest } = importOptions(given);
      const query = new URLSearchParams({ ...rest, ...(files === false && { files: 'false' }) });
      const stream = Readable.toWeb(Readable.from(source, { objectMode: false })) as ReadableStream<Uint8Array>;
      const answer = await link.open(`/v1/conversations/import?${query.toString()}`, {
        method: 'POST',
        stream,
        headers: { 'content-type': 'application/gzip' },
      });
      const { conversationId, report } = (await answer.json()) as { conversationId: string; report: ImportReport };
      return { chat: createChat(longshore(), conversationId), report };
    },
  };
}
