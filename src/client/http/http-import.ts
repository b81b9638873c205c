import { Readable } from 'node:stream';
import type { ImportCalls, ImportReport } from '../../contracts/imports/import.ts';
import { createChat } from '../create-chat.ts';
import { checkId } from '../start-conversation.ts';
import { archiveOf, importOptions } from '../import/import-options.ts';
import type { Chat, Longshore } from '../types.ts';
import type { HttpLink } from './http-link.ts';

export function createHttpImport(link: HttpLink, longshore: () => Longshore): ImportCalls<Chat> {
  return {
    async import(archive, given) {
      let ownError: { error: unknown } | undefined;
      const source = archiveOf(archive, (error) => (ownError = { error }));
      const { files, ...rest } = importOptions(given);
      if (rest.conversationId !== undefined) checkId(rest.conversationId);
      const query = new URLSearchParams({ ...rest, ...(files === false && { files: 'false' }) });
      const stream = Readable.toWeb(Readable.from(source, { objectMode: false })) as ReadableStream<Uint8Array>;
      const request = { method: 'POST' as const, stream, headers: { 'content-type': 'application/gzip' } };
      const answer = await link.open(`/v1/conversations/import?${query.toString()}`, request).catch((error: unknown) => {
        // What the source throws ends the request, too, and says nothing about the service.
        throw ownError ? ownError.error : link.doubted(error);
      });
      const { conversationId, report } = (await link.read(answer).catch((error: unknown) => {
        throw link.doubted(error);
      })) as { conversationId: string; report: ImportReport };
      return { chat: createChat(longshore(), conversationId), report };
    },
  };
}
