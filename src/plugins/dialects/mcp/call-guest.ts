import { ProtocolError } from '@modelcontextprotocol/client';
import type { McpGuest } from '../../../contracts/mcp/server.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import type { SandboxServer, ServerAnswer, ServerRequest } from '../../../sandbox/api/host-methods.ts';
import type { ToolContext } from '../../api/define-plugin.ts';
import { asTask, taskIn } from './call-as-task.ts';
import { limitOf } from './call-limits.ts';
import { noteRestart } from './offers/watched-resources.ts';
import type { ServerCall, TaskUse } from './offers/server-call.ts';
import type { RunServerTool } from './server-tools.ts';

interface Parts {
  name: string;
  server: McpGuest;
  program: () => SandboxServer;
}

/** Makes the functions of tools that call a server in the sandbox. An error says whether the call was made. */
export function createGuestCaller({ name, server, program }: Parts): RunServerTool {
  const { sampling } = server;
  const asks = sampling && { mayAskModel: true as const };
  return (tool) => ({ isolation: 'container', ...asks, execute: (input, context) => tool.run(input, (...given) => ask(tool, context, ...given), context) });

  /** A call survives its worker without being a task, and is one only where the server wants that. */
  async function ask(tool: ServerCall, context: ToolContext, request: ServerRequest, task?: TaskUse): Promise<JsonObject> {
    if (task !== 'required') return call(tool, context, request);
    const begun = await call(tool, context, asTask(request, limitOf(server, tool.name)));
    const taskId = taskIn(begun);
    return taskId === undefined ? begun : call(tool, context, { method: 'tasks/result', params: { taskId } });
  }

  async function call({ name: tool }: ServerCall, context: ToolContext, request: ServerRequest): Promise<JsonObject> {
    const timeoutMs = limitOf(server, tool);
    const answer = await context.sandbox.callServer(program(), request, {
      timeoutMs,
      asks: { server: name, ...(sampling && { sampling }) },
      onProgress: (line) => context.heartbeat(line),
      onRestart: async (why) => {
        await noteRestart(context.store);
        await context.note(restartNote(name, why));
      },
    });
    if (answer.outcome === 'answered') return answer.result;
    const problem = problemOf(answer, name, timeoutMs);
    if (answer.outcome === 'absent' || answer.outcome === 'gone') context.logger.warn(problem.message);
    throw problem;
  }
}

/** The note to the model about a server that is started again. */
export function restartNote(name: string, why: string): string {
  return `The MCP server ${name} is started again, since ${why}: what it had in its memory is gone.`;
}

function problemOf(answer: Exclude<ServerAnswer, { outcome: 'answered' }>, name: string, timeoutMs: number): Error {
  switch (answer.outcome) {
    case 'refused':
      return new ProtocolError(answer.code, answer.message);
    case 'absent':
      return new Error(`the MCP server ${name} is not available, and the call was not made: ${answer.why}`);
    case 'gone':
      return new Error(
        `the MCP server ${name} ended during this call, so it is not known whether the call took effect (${answer.why}); the next call starts it again`,
      );
    default:
      return new Error(`it took longer than ${timeoutMs} ms, and the MCP server ${name} was told to stop it`);
  }
}
