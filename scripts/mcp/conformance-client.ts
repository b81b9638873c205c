/**
 * The client that the official conformance suite of the Model Context Protocol runs against each of its servers, whose address is the last argument: connects as a
 * worker does, and calls each tool once. A person who is asked accepts what the server suggests.
 */
import { createLogger } from '../../src/platform/log.ts';
import type { JsonObject } from '../../src/contracts/json.ts';
import type { ToolContext } from '../../src/plugins/api/define-plugin.ts';
import { connectServer } from '../../src/plugins/dialects/mcp/connected-server.ts';

const ARGUMENTS: Record<string, JsonObject> = { add_numbers: { a: 5, b: 3 } };

const url = process.argv.at(-1) ?? '';
const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
const server = { url, headers: {}, timeoutMs: 20_000 };
await using connected = connectServer({ name: 'conformance', server, readEnvironment: () => undefined, log, onChange: () => undefined, isEnabled: true });
await connected.started;
const { problem, tools } = connected.plugin();
if (problem !== undefined) throw new Error(problem);
for (const tool of tools) await tool.execute(ARGUMENTS[tool.id] ?? {}, context());

/** What the call of such a tool uses of its context. */
function context(): ToolContext {
  return {
    signal: new AbortController().signal,
    heartbeat: () => undefined,
    askPerson: async (question) => ({ action: 'accept', ...('answer' in question && { content: question.answer }) }),
  } as Partial<ToolContext> as ToolContext;
}
