import { randomBytes } from 'node:crypto';
import { failure, isFailure, type LongshoreError } from '../../contracts/errors.ts';
import type { StreamName } from './call.ts';
import { Caller, type CallerOptions } from './caller.ts';
import { createCheckpointCalls } from './checkpoint-calls.ts';
import { createDifferenceCalls } from './difference-calls.ts';
import { createFileCalls, createPartCalls } from './file-calls.ts';
import { parseLines } from './lines.ts';
import { createMethodCalls } from './method-calls.ts';
import type { EndOf, Operation, RecordOf, RequestOf } from './protocol-types.ts';
import { connectPort } from './connect-port.ts';
import { serveTunnels } from './serve-tunnels.ts';
import type { ExecEnd, ExecSpec, FollowOptions, SupervisorConnection } from './supervisor-connection.ts';

/** A connection to the supervisor behind `openStream`. The first call opens the first stream. */
export function connectSupervisor(options: CallerOptions): SupervisorConnection {
  const caller = new Caller(options);
  const ask = <O extends Operation>(operation: O, fields: RequestOf<O>): Promise<EndOf<O>> => caller.call({ operation, fields: () => fields });
  return {
    ...createFileCalls(caller),
    ...createPartCalls(caller),
    ...createCheckpointCalls(caller),
    ...createDifferenceCalls(caller),
    run: (spec, follow) => callAndFollow(caller, 'run', spec.execId, follow, (from) => ({ ...execFields(spec), ...from })),
    start: (spec) => ask('start', execFields(spec)),
    attach: (execId, follow) => callAndFollow(caller, 'attach', execId, follow, (from) => ({ execId, ...from })),
    async input(execId, bytes, { end }) {
      const inputId = randomBytes(8).toString('hex');
      await caller.call({ operation: 'input', fields: () => ({ execId, inputId, size: bytes.byteLength, end }), upload: bytes, isUploadAhead: true });
    },
    signal: async (execId, signal) => (await ask('signal', { execId, signal })).signalled,
    list: async () => (await parseLines(caller, 'list', {})).lines,
    info: (execId) => ask('info', { execId }),
    async forget(execId) {
      let repeated = false;
      try {
        await caller.call({ operation: 'forget', fields: () => ({ execId }), onRepeat: () => (repeated = true) });
      } catch (error) {
        // The first request may have removed it before the stream broke.
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
    connectPort: (port, connect) => connectPort(caller, port, connect),
    serveTunnels: (tunnels) => serveTunnels(caller, tunnels),
    disconnect: () => caller.disconnect(),
    close: (why) => caller.close(why),
  };
}

async function callAndFollow<O extends 'run' | 'attach'>(
  caller: Caller,
  operation: O,
  execId: string,
  follow: FollowOptions,
  request: (from: RecordOf<'follow'>) => RequestOf<O>,
): Promise<ExecEnd> {
  const delivered = follow.from ? { ...follow.from } : { stdout: 0, stderr: 0 };
  const sinks = { stdout: follow.onStdout, stderr: follow.onStderr };
  const stream = sinks.stdout !== undefined || sinks.stderr !== undefined;
  return caller.call({
    operation,
    fields: () => request({ stream, stdoutOffset: delivered.stdout, stderrOffset: delivered.stderr, previewBytes: follow.previewBytes }),
    ...(stream && {
      onData: (chunk: Buffer, name: StreamName) => {
        delivered[name] += chunk.length;
        return sinks[name]?.(chunk);
      },
    }),
    letGo: (): LongshoreError => failure('DETACHED', { execId }),
    ...(follow.signal && { signal: follow.signal }),
  });
}

function execFields({ run, ...rest }: ExecSpec): RecordOf<'exec'> {
  return { ...rest, ...run };
}
