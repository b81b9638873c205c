import { anySignal } from '../common/any-signal.ts';
import type { DiffCalls } from '../contracts/checkpoints/diff.ts';
import type { HostClient } from '../hosts/client/host-client.ts';
import type { ConversationRow, Store } from '../store/store.ts';
import { diffOptions } from './diff/diff-options.ts';
import { openDiff } from './diff/open-diff.ts';
import { readDiff } from './diff/read-diff.ts';
import { exportConversation } from './export/export-conversation.ts';
import { exportOptions } from './export/export-options.ts';
import type { ExportCalls } from './export/export-types.ts';

interface SandboxCallParts {
  store: Store;
  hosts: HostClient;
  /** Aborts when the client is closed. */
  closing: AbortSignal;
  rowOf: (conversation: string | { readonly id: string }) => Promise<ConversationRow>;
}

/** The calls that read the sandbox of a conversation, through a worker of its host. */
export function createSandboxCalls({ store, hosts, closing, rowOf }: SandboxCallParts): DiffCalls & ExportCalls {
  return {
    async diff(conversation, given) {
      const options = diffOptions(given);
      const row = await rowOf(conversation);
      const stop = new AbortController();
      try {
        const opened = await openDiff({ store, hosts }, row, options, anySignal([closing, stop.signal]));
        return await readDiff(opened, row.conversationId, options.patch ?? false);
      } finally {
        stop.abort();
      }
    },
    async export(conversation, given) {
      const options = exportOptions(given);
      return exportConversation({ store, hosts, closing }, await rowOf(conversation), options);
    },
  };
}
