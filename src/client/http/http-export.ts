import { Readable } from 'node:stream';
import { conversationIdOf } from '../client-arguments.ts';
import { exportOptions } from '../export/export-options.ts';
import type { ExportCalls } from '../export/export-types.ts';
import type { HttpLink } from './http-link.ts';

/** `closing` ends what is read. */
export function createHttpExport(link: HttpLink, closing: AbortSignal): ExportCalls {
  return {
    async export(conversation, given) {
      const { files } = exportOptions(given);
      const query = files === undefined ? '' : `?files=${files}`;
      const place = `/v1/conversations/${encodeURIComponent(conversationIdOf(conversation))}/export${query}`;
      return Readable.from(link.bytes(await link.open(place, { signal: closing }), closing), { objectMode: false });
    },
  };
}
