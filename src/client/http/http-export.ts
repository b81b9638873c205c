import { Readable } from 'node:stream';
import { conversationIdOf } from '../client-arguments.ts';
import { exportOptions } from '../export/export-options.ts';
import type { ExportCalls } from '../export/export-types.ts';
import type { HttpLink } from './http-link.ts';

export function createHttpExport(link: HttpLink): ExportCalls {
  return {
    async export(conversation, given) {
      const { files } = exportOptions(given);
      const query = files === undefined ? '' : `?files=${files}`;
      const { body } = await link.open(`/v1/conversations/${encodeURIComponent(conversationIdOf(conversation))}/export${query}`, {});
      return body ? Readable.fromWeb(body) : Readable.from([]);
    },
  };
}
