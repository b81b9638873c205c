import { failure } from '../../contracts/errors.ts';
import type { Caller } from './caller.ts';
import { createCheckedLineReader } from './lines.ts';
import type { SupervisorConnection } from './supervisor-connection.ts';

/** The operations on tool calls of an exec's code. */
export function createMethodCalls(caller: Caller): Pick<SupervisorConnection, 'calls' | 'hold' | 'answer' | 'conclude'> {
  return {
    async calls(execId, { onCall, signal }) {
      const newReader = () => createCheckedLineReader('calls', onCall);
      let read = newReader();
      await caller.call({
        operation: 'calls',
        fields: () => ({ execId }),
        onData: (chunk) => read(chunk),
        // A line that arrived only in part is sent again from its beginning.
        onRepeat: () => {
          read = newReader();
        },
        letGo: () => failure('DETACHED', { execId }),
        ...(signal && { signal }),
      });
    },
    hold: async (execId, number) => (await caller.call({ operation: 'hold', fields: () => ({ execId, number }) })).held,
    async answer(execId, number, answer) {
      const upload = Buffer.from(answer);
      await caller.call({ operation: 'answer', fields: () => ({ execId, number, size: upload.byteLength }), upload, isUploadAhead: true });
    },
    async conclude(execId, number) {
      await caller.call({ operation: 'conclude', fields: () => ({ execId, number }) });
    },
  };
}
