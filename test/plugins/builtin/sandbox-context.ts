import type { ToolContext, ToolResult } from '../../../src/plugins/api/define-plugin.ts';
import type { JsonObject } from '../../../src/contracts/json.ts';
import { BUILTIN_PLUGINS } from '../../../src/plugins/builtin/builtin-plugins.ts';
import { createRegistry } from '../../../src/plugins/registry/registry.ts';
import type { WorkerHandle } from '../../../src/sandbox/api/sandbox.ts';
import { createTestSandboxes } from '../../sandbox/lifecycle/support.ts';

/** A real sandbox, and the built-in tools working in it as a worker would have them. */
export interface ToolBench {
  handle: WorkerHandle;
  /** Checks the arguments as they are before a call, then runs it; the same call id twice is a repeated call. */
  call(tool: string, input: JsonObject, callId?: string): Promise<ToolResult>;
  /** What a command printed. */
  shell(command: string): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function createToolBench(): Promise<ToolBench> {
  const sandboxes = await createTestSandboxes();
  const registry = createRegistry(BUILTIN_PLUGINS);
  const { handle } = await sandboxes.sandboxes.open(sandboxes.newOwner(), {});
  let calls = 0;
  return {
    handle,
    async call(name, input, callId = `call-${(calls += 1)}`) {
      const tool = registry.get(name)!;
      expect(await tool.problemsOf(input)).toEqual([]);
      return tool.execute(input, contextOf(handle, callId));
    },
    shell: async (command) => (await handle.run(command)).stdout.text,
    [Symbol.asyncDispose]: () => sandboxes[Symbol.asyncDispose](),
  };
}

/** What no built-in tool asks for. */
const unused = {} as Pick<ToolContext, 'store' | 'files' | 'fetch' | 'message'>;

function contextOf(handle: WorkerHandle, callId: string): ToolContext {
  let execs = 0;
  const named = () => `${callId}-${(execs += 1)}`;
  return {
    conversationId: 'conv_1',
    userId: 'user',
    tenantId: 'tenant',
    agentId: 'agent',
    turnId: 'turn_1',
    callId,
    signal: new AbortController().signal,
    logger: { info: () => {}, warn: () => {} },
    heartbeat: () => {},
    env: {},
    config: {},
    send: async () => {},
    note: async () => {},
    ...unused,
    sandbox: {
      handle: async () => handle,
      exec: (command, { quiet: _quiet, methods: _methods, ...options } = {}) => handle.run(command, { ...options, execId: named() }),
      runCode: (code, { methods: _methods, ...options }) => handle.runCode(code, { ...options, execId: named() }),
      callServer: (server, request, options) => handle.callServer(server, request, { ...options, execId: named() }),
      runTool: () => Promise.reject(new Error('built-in tools are part of the worker')),
      start: (command, options) => handle.start(command, { ...options, execId: named() }),
    },
  };
}
