import { randomBytes } from 'node:crypto';
import { failure, isFailure, type LongshoreError } from '../../contracts/errors.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { Call, StreamName } from './call.ts';
import { Caller, type CallerOptions } from './caller.ts';
import { createFileCalls, createPartCalls } from './file-calls.ts';
import { parseLines } from './lines.ts';
import { createMethodCalls } from './method-calls.ts';
import { serveTunnels } from './serve-tunnels.ts';
import type { ExecEnd, ExecRecord, ExecSpec, FollowOptions, SupervisorConnection } from './supervisor-connection.ts';

/** Talks to the supervisor behind `openStream`; the first stream is opened by the first call. */
export function connectSupervisor(options: CallerOptions): SupervisorConnection {
  const caller = new Caller(options);
  const ask = (operation: Call['operation'], fields: JsonObject): Promise<JsonObject> => caller.call({ operation, fields: () => fields });
  return {
    ...createFileCalls(caller),
    ...createPartCalls(caller),
    run: (spec, follow) => callAndFollow(caller, 'run', spec.execId, execFields(spec), follow),
    start: async (spec) => (await ask('start', execFields(spec))) as unknown as ExecRecord,
    attach: (execId, follow) => callAndFollow(caller, 'attach', execId, { execId }, follow),
    async input(execId, bytes, { end }) {
      const inputId = randomBytes(8).toString('hex');
      await caller.call({ operation: 'input', fields: () => ({ execId, inputId, size: bytes.byteLength, end }), upload: bytes, isUploadAhead: true });
    },
    signal: async (execId, signal) => (await ask('signal', { execId, signal }))['signalled'] === true,
    async list() {
      return (await parseLines(caller, 'list', {})).lines as unknown as ExecRecord[];
    },
    info: async (execId) => (await ask('info', { execId })) as unknown as ExecRecord,
    async forget(execId) {
      let repeated = false;
      try {
        await caller.call({ operation: 'forget', fields: () => ({ execId }), onRepeat: () => (repeated = true) });
      } catch (error) {
        // The first request may have done it before the stream broke.
        if (!repeated || !isFailure(error, 'EXEC_NOT_FOUND')) throw error;
      }
    },
    ...createMethodCalls(caller),
    async ping() {
      await ask('ping', {});
    },
    async isAnswering(withinMs, signal) {
      if (caller.silentMs() <= withinMs) return true;
      await caller.call({ operation: 'ping', fields: () => ({}), signal });
      return true;
    },
    serveTunnels: (tunnels) => serveTunnels(caller, tunnels),
    disconnect: () => caller.disconnect(),
    close: (why) => caller.close(why),
  };
}

async function callAndFollow(caller: Caller, operation: 'run' | 'attach', execId: string, fields: JsonObject, follow: FollowOptions): Promise<ExecEnd> {
  const delivered = follow.from ? { ...follow.from } : { stdout: 0, stderr: 0 };
  const sinks = { stdout: follow.onStdout, stderr: follow.onStderr };
  const stream = sinks.stdout !== undefined || sinks.stderr !== undefined;
  const end = await caller.call({
    operation,
    fields: () => ({ ...fields, stream, stdoutOffset: delivered.stdout, stderrOffset: delivered.stderr, previewBytes: follow.previewBytes }),
    ...(stream && {
      onData: (chunk: Buffer, name: StreamName) => {
        delivered[name] += chunk.length;
        return sinks[name]?.(chunk);
      },
    }),
    letGo: (): LongshoreError => failure('DETACHED', { execId }),
    ...(follow.signal && { signal: follow.signal }),
  });
  return end as unknown as ExecEnd;
}

function execFields({ run, ...rest }: ExecSpec): JsonObject {
  return { ...rest, ...run };
}
