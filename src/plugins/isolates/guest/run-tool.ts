import type { Json, JsonObject } from '../../../contracts/json.ts';
import { pluginOfExports } from '../../api/plugin-of-exports.ts';
import { MAX_TOLD, type FromGuest, type SandboxedCall } from '../guest-protocol.ts';
import { createCallContext, type Line, type SentRequest } from './call-context.ts';
import { failureOf } from './failure-of.ts';
import { logTextOf } from './log-text-of.ts';
import { resultText } from './result-text.ts';

/**
 * Runs one call of a tool in the conversation's sandbox, where it shares nothing with other calls and has all of Node. It is bundled with the plugin, and
 * receives the exports of the plugin's module.
 */
export async function runTool(
  exports: Record<string, unknown>,
  { tool, input, facts, host, files }: SandboxedCall,
  { ask, tell }: Line,
  signal: AbortSignal,
): Promise<Extract<FromGuest, { type: 'done' | 'failed' }>> {
  // After a line that is too long the worker reads nothing more, not even the result.
  const line: Line = { ask, tell: (what, text) => tell(what, text.slice(0, MAX_TOLD)) };
  try {
    const plugin = pluginOfExports(exports);
    const context = createCallContext(facts, signal, line, readNativeRequest);
    if (files) Object.assign(globalThis, { readFile: (path: unknown) => line.ask('readFile', [path]) });
    if (typeof plugin['attach'] === 'function') plugin['attach'](() => context);
    if (host && typeof plugin['load'] === 'function') await plugin['load']({ ...(host[0] as JsonObject), logger: loggerOf(line) });
    const found = (plugin['tools'] as Record<string, unknown>[]).find(({ id }) => id === tool);
    if (typeof found?.['execute'] !== 'function') throw new Error('it has no such function');
    const value = ((await found['execute'](input, context)) ?? null) as Json;
    resultText(value);
    return { type: 'done', id: 0, value };
  } catch (error) {
    return failureOf(0, error);
  }
}

function loggerOf({ tell }: Line): object {
  return { info: (text: unknown) => tell('info', logTextOf(text)), warn: (text: unknown) => tell('warn', logTextOf(text)) };
}

/** The code has all classes of the platform, whose bodies are of many kinds. */
async function readNativeRequest(url: unknown, init: unknown): Promise<SentRequest> {
  const request = new Request(url as string, init as RequestInit);
  const body = request.body ? new Uint8Array(await request.arrayBuffer()) : undefined;
  const signal = url instanceof Request ? url.signal : (init as RequestInit | undefined)?.signal;
  return { url: request.url, method: request.method, redirect: request.redirect, headers: request.headers, body, signal };
}
