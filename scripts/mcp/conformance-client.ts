/**
 * The client that the official conformance suite of the Model Context Protocol runs against each of its servers, whose address is the last argument: connects as a
 * worker does, and calls each tool once. A person who is asked accepts what the server suggests, and signs in where that is asked.
 */
import { createLogger } from '../../src/platform/log.ts';
import type { McpRemote } from '../../src/contracts/mcp/server.ts';
import type { McpOAuth, McpUserOAuth } from '../../src/contracts/mcp/oauth.ts';
import type { JsonObject } from '../../src/contracts/json.ts';
import type { Tool, ToolContext } from '../../src/plugins/api/define-plugin.ts';
import { connectServer } from '../../src/plugins/dialects/mcp/connected-server.ts';
import { openDesk } from '../../test/oauth/desk.ts';
import { memoryStore } from '../../test/plugins/dialects/mcp/memory-store.ts';

const ARGUMENTS: Record<string, JsonObject> = { add_numbers: { a: 5, b: 3 } };
/** Tools that need something of a list. */
const READERS = new Set(['read_resource', 'get_prompt', 'watch_resource', 'complete']);
/** The document that the suite knows as a client. */
const CLIENT_DOCUMENT = 'https://conformance-test.local/client-metadata.json';

let calls = 0;
const url = process.argv.at(-1) ?? '';
const { MCP_CONFORMANCE_SCENARIO: scenario = '', MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env;
const oauth = scenario.startsWith('auth/') ? await authorizationOf(scenario, JSON.parse(context) as Record<string, string>) : undefined;
if (oauth?.as === 'user') await callAsUser();
else await callAsWorker({ url, headers: {}, timeoutMs: 20_000, ...(oauth && { oauth }) });

async function callAsWorker(server: McpRemote): Promise<void> {
  const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
  await using connected = connectServer({ name: 'conformance', server, readEnvironment: () => undefined, log, onChange: () => undefined, isEnabled: true });
  await connected.started;
  const { problem, tools } = connected.plugin();
  if (problem !== undefined) throw new Error(problem);
  for (const { name, arguments: input } of callsOf(tools)) {
    const tool = tools.find(({ id }) => id === name);
    // One call that the server refuses says nothing about the others.
    if (tool) await callOne(tool, input, tools).catch((error: Error) => console.error(`${name}: ${error.message}`));
  }
}

/** The calls that a scenario wants; else each tool once. */
function callsOf(tools: Tool[]): { name: string; arguments: JsonObject }[] {
  const { toolCalls } = JSON.parse(context) as { toolCalls?: { name: string; arguments: JsonObject }[] };
  return toolCalls ?? tools.filter(({ id }) => !READERS.has(id)).map(({ id: name }) => ({ name, arguments: argumentsOf(name, tools) }));
}

function argumentsOf(name: string, tools: Tool[]): JsonObject {
  // The suite looks whether a schema is kept as it is.
  if (name === 'json_schema_echo') return { schema: tools.find(({ id }) => id !== name)?.parameters ?? {} };
  return ARGUMENTS[name] ?? {};
}

/** Reads what a list has, too. */
async function callOne(tool: Tool, input: JsonObject, tools: Tool[]): Promise<void> {
  const given = (await tool.execute(input, contextOfCall())) as { prompts?: { name: string }[]; resources?: { uri: string }[] };
  const read = async (id: string, of: JsonObject) => tools.find((each) => each.id === id)?.execute(of, contextOfCall());
  if (tool.id === 'list_prompts') for (const { name } of given.prompts ?? []) await read('get_prompt', { name });
  if (tool.id === 'list_resources') for (const { uri } of given.resources ?? []) await read('read_resource', { uri });
}

async function callAsUser(): Promise<void> {
  await using desk = await openDesk(url, { oauth: oauth as McpUserOAuth });
  const toolsOf = async () => (await desk.pluginOf('ada')).tools.map(({ id }) => id);
  if ((await toolsOf()).includes('sign_in')) console.log(await desk.call('ada', 'sign_in'));
  for (const tool of await toolsOf()) console.log(JSON.stringify(await desk.call('ada', tool)));
}

/** What an operator would write into the agent's file. */
async function authorizationOf(name: string, given: Record<string, string>): Promise<McpOAuth> {
  const { client_id: clientId = '', client_secret: clientSecret = '', private_key_pem: privateKey, signing_algorithm: algorithm = '' } = given;
  if (name.startsWith('auth/client-credentials')) {
    const credentials = privateKey === undefined ? { clientSecret } : { privateKey, algorithm };
    return { as: 'worker', clientId, ...credentials, issuer: await authorizationServer() };
  }
  if (name === 'auth/basic-cimd') return { as: 'user', clientId: CLIENT_DOCUMENT };
  return { as: 'user', ...(clientId !== '' && { clientId, clientSecret }) };
}

async function authorizationServer(): Promise<string> {
  const { origin, pathname } = new URL(url);
  const answer = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const { authorization_servers: servers } = (await answer.json()) as { authorization_servers: string[] };
  return servers[0] ?? '';
}

/** What the call of such a tool uses of its context. */
function contextOfCall(): ToolContext {
  return {
    callId: `call_${(calls += 1)}`,
    store: memoryStore(),
    logger: console,
    signal: new AbortController().signal,
    heartbeat: () => undefined,
    askPerson: async (question) => ({ action: 'accept', ...('answer' in question && { content: question.answer }) }),
  } as Partial<ToolContext> as ToolContext;
}
