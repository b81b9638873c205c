import type { Readable } from 'node:stream';

export interface ExportOptions {
  /** With the files of the sandbox. Default: true. */
  files?: boolean;
}

/** Of the files that an export writes. A reader refuses a version that it does not know. */
export const EXPORT_FORMAT = { format: 'longshore-conversation', version: 1 } as const;

/** The calls of a conversation about its export. */
export interface ChatExport {
  /** Everything of the conversation as the bytes of a `.tar.gz`, made while it is read. A stream that ends with an error is not complete. */
  export(options?: ExportOptions): Promise<Readable>;
}
export interface ExportCalls {
  export(conversation: string | { readonly id: string }, options?: ExportOptions): Promise<Readable>;
}
