import { setImmediate as turn } from 'node:timers/promises';
import { createCallSandbox } from '../../../src/tool-calls/run/tool-sandbox.ts';
import type { CommandResult, ExecInfo } from '../../../src/sandbox/api/commands.ts';
import type { WorkerHandle } from '../../../src/sandbox/api/sandbox.ts';
import { deferred } from '../../../src/common/deferred.ts';

const preview = { text: '', totalBytes: 0, truncated: false, path: '' };
const resultOf = (execId: string, status: CommandResult['status']): CommandResult => ({ execId, status, durationMs: 1, stdout: preview, stderr: preview });

/** A sandbox in which a tool runs that has started a command; both end when they are told to. */
function sandboxWithTool() {
  const tool = deferred<CommandResult>();
  const command = deferred<CommandResult>();
  const begun = deferred<void>();
  const handle = {
    sandboxId: 'sbx_1',
    runTool(_request: unknown, { onMethodCall }: { onMethodCall: (call: unknown) => void }) {
      onMethodCall({ execId: 'call_1-1', number: 1, tool: 'longshore:context', arguments: { what: 'exec', args: [] }, repeated: false });
      return tool.promise;
    },
    run: () => {
      begun.resolve();
      return command.promise;
    },
    execs: async () => [{ execId: 'call_1-1-1', state: 'running' }] as ExecInfo[],
    async kill(execId: string) {
      command.resolve(resultOf(execId, 'killed'));
      // The end of the killed command arrives before the tool's own end is told.
      for (let turns = 0; turns < 20; turns += 1) await turn();
      return true;
    },
    answerMethod: async () => undefined,
  };
  const sandbox = createCallSandbox({
    args: { callId: 'call_1', timeoutMs: 1000 } as never,
    isBegun: false,
    open: async () => handle as unknown as WorkerHandle,
    onOutput: () => undefined,
    onMethodCall: () => undefined,
  });
  const ran = sandbox.runTool({ request: {} as never, timeoutMs: 1000, onTold: () => undefined, ask: async ({ exec }) => (await exec('sleep 60')).status });
  return { sandbox, ran, tool, command, begun: begun.promise };
}

test("a tool's time limit is no interruption, although its command was killed and that was heard of first", async () => {
  const { sandbox, ran, tool, begun } = sandboxWithTool();
  await begun;
  tool.resolve(resultOf('call_1-1', 'timeout'));
  expect(await ran).toMatchObject({ status: 'timeout' });
  expect(sandbox.ending()).toBeUndefined();
});

test('a command of a running tool that was killed is an interruption', async () => {
  const { sandbox, ran, tool, command, begun } = sandboxWithTool();
  await begun;
  command.resolve(resultOf('call_1-1-1', 'killed'));
  for (let turns = 0; turns < 20; turns += 1) await turn();
  expect(sandbox.ending()).toMatchObject({ kind: 'interrupted' });
  tool.resolve(resultOf('call_1-1', 'exited'));
  await ran.catch(() => undefined);
});
