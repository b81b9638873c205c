import { setTimeout as sleep } from 'node:timers/promises';
import { CallToolResultSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { McpGuest } from '../../contracts/agent.ts';
import type { JsonObject } from '../../contracts/json.ts';
import { deferred } from '../../deferred.ts';
import type { Logger } from '../../log.ts';
import type { SandboxServer, ServerAnswer } from '../../sandbox/sandbox.ts';
import type { Plugin, ToolContext, ToolResult } from '../define-plugin.ts';
import { limitOf } from './call-limits.ts';
import type { ConnectedServer } from './connected-server.ts';
import { fillInServer, type ReadEnvironment } from './fill-in-server.ts';
import type { ListedTools } from './list-in-sandbox.ts';
import { createServerPlugin } from './server-plugin.ts';
import { resultOf } from './server-result.ts';

export interface GuestServerParts {
  name: string;
  server: McpGuest;
  readEnvironment: ReadEnvironment;
  log: Logger;
  onChange: (plugin: Plugin) => void;
  /** Asks the server, in a sandbox of its own, for its tools; `again` does not take what is known of it. */
  list: (server: SandboxServer, options: { again: boolean }) => Promise<ListedTools>;
  /** Longest pause between two attempts to list. Default 30 000. */
  maxPauseMs?: number;
}

const FIRST_PAUSE_MS = 500;

/**
 * A server that runs in the sandbox of each conversation. Its tools are those that it lists once in a sandbox of its own, tried again until it has;
 * its calls are execs of the conversation's sandbox, so that they take effect once whatever becomes of the worker.
 */
export function serveFromSandboxes({ name, server, readEnvironment, log, onChange, list, maxPauseMs = 30_000 }: GuestServerParts): ConnectedServer {
  const closed = new AbortController();
  const first = deferred<void>();
  const run = (tool: string) => ({ isolation: 'container' as const, execute: (input: JsonObject, context: ToolContext) => call(tool, input, context) });
  let listed: Promise<void> = Promise.resolve();
  const listInTurn = (again: boolean) => (listed = listed.then(() => listUntilKnown(again)));
  const published = createServerPlugin({ name, limits: server, log, run, onChange, restart: () => void listInTurn(true) });
  void listInTurn(false);
  return {
    plugin: published.plugin,
    started: first.promise,
    async [Symbol.asyncDispose]() {
      closed.abort();
      await listed;
    },
  };

  async function listUntilKnown(again: boolean): Promise<void> {
    for (let failures = 0; !closed.signal.aborted; failures += 1) {
      try {
        const { version, tools } = await list(programOf(), { again });
        published.take(version, tools);
        if (failures > 0) published.recover('Its tools could be listed');
        break;
      } catch (error) {
        published.fail(`Its tools cannot be listed: ${(error as Error).message.slice(0, 1000)}; it is tried again`);
      }
      first.resolve();
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** failures, maxPauseMs), undefined, { signal: closed.signal }).catch(() => undefined);
    }
    first.resolve();
  }

  function programOf(): SandboxServer {
    const { command, args, env, directory } = server;
    return { name, command, args, env: fillInServer(name, env, readEnvironment), ...(directory !== undefined && { directory }) };
  }

  async function call(tool: string, input: JsonObject, context: ToolContext): Promise<ToolResult> {
    const timeoutMs = limitOf(server, tool);
    const answer = await context.sandbox.callServer(
      programOf(),
      { method: 'tools/call', params: { name: tool, arguments: input } },
      {
        timeoutMs,
        onProgress: (line) => context.heartbeat(line),
        onRestart: (why) => context.note(`The MCP server ${name} is started again, since ${why}: what it had in its memory is gone.`),
      },
    );
    if (answer.outcome === 'answered') return resultOf(CallToolResultSchema.parse(answer.result));
    const problem = problemOf(answer, name, timeoutMs);
    if (answer.outcome === 'absent' || answer.outcome === 'gone') context.logger.warn(problem.message);
    throw problem;
  }
}

function problemOf(answer: Exclude<ServerAnswer, { outcome: 'answered' }>, name: string, timeoutMs: number): Error {
  switch (answer.outcome) {
    case 'refused':
      return new McpError(answer.code, answer.message);
    case 'absent':
      return new Error(`the MCP server ${name} is not there, and the call was not made: ${answer.why}`);
    case 'gone':
      return new Error(
        `the MCP server ${name} ended in the midst of this call, so nobody knows whether it took effect (${answer.why}); the next call starts it again`,
      );
    default:
      return new Error(`it took longer than ${timeoutMs} ms, and the MCP server ${name} was told to stop it`);
  }
}
