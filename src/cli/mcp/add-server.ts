import { isDeepStrictEqual } from 'node:util';
import { failure } from '../../contracts/errors.ts';
import { isObject, type JsonObject } from '../../contracts/json.ts';
import { writeAgentFiles, type AgentFile, type ChangedFile } from '../../definitions/edit/agent-files.ts';
import { withEntry, yamlLine } from '../../definitions/edit/edit-yaml.ts';
import { checkAddress } from '../../definitions/mcp-registry/check-address.ts';
import { readServerDocument } from '../../definitions/mcp-registry/server-document.ts';
import { entryOf } from '../../definitions/mcp-registry/to-entry.ts';
import { allowedAddresses } from '../../definitions/mcp-registry/allowed-addresses.ts';
import { confirmed } from '../output/confirmed.ts';
import { EXIT, printLine, type Cli } from '../output/cli.ts';
import { readEntries, refuseTaken } from '../plugins/add/agent-entries.ts';
import { openPluginLoading } from '../plugins/check/plugin-loading.ts';
import { showServer, tellAdded, type ServerPlan } from './tell-server.ts';

export interface AddServerOptions {
  agent?: string[];
  where?: 'host' | 'sandbox';
  set?: Record<string, string>;
  yes?: boolean;
  json?: boolean;
}

const NAME = /^[a-z][a-z0-9-]{0,39}$/;
/** What an operator sets for a server, which no document has. */
const KEPT = ['timeout', 'timeouts', 'directory', 'sampling'];

/** Writes a server of the registry into the files of agents, after a person has seen what it runs and is given. */
export async function addServer(cli: Cli, name: string, source: string, options: AddServerOptions): Promise<void> {
  const { agent = [], where, set = {}, json = false } = options;
  checkOptions(name, options);
  const entries = await readEntries(cli, agent);
  const network = allowedAddresses(cli.config());
  const document = await readServerDocument(source, network);
  const made = entryOf(document, { name, where, set });
  if (typeof made.entry['url'] === 'string') await checkAddress(made.entry['url'], network);
  await using loading = openPluginLoading(cli);
  await refuseTaken(loading, entries, { id: name, as: `the MCP server ${document.name}` });
  const plan: ServerPlan = { name, document, ...made, files: filesAfter(entries.files, agent, name, made.entry) };
  if (!json) showServer(cli, plan);
  const isKnown = entries.files.some((file) => serverIn(file, name) !== undefined);
  if (!(await isAgreed(cli, plan, isKnown, options))) {
    printLine(cli, 'Nothing was added.');
    cli.exitCode = EXIT.failed;
    return;
  }
  await writeAgentFiles(plan.files);
  tellAdded(cli, plan, { json, isKnown });
}

function checkOptions(name: string, { json = false, yes = false }: AddServerOptions): void {
  if (json && !yes) throw failure('INVALID_ARGUMENT', { what: '--json', problem: 'it leaves no place for a question', fix: 'Add --yes' });
  if (NAME.test(name)) return;
  throw failure('INVALID_ARGUMENT', {
    what: 'name',
    problem: `"${name}" is not usable`,
    fix: 'Use a lower-case letter, then letters, digits and -, 40 at most',
  });
}

async function isAgreed(cli: Cli, { name, files }: ServerPlan, isKnown: boolean, { yes = false }: AddServerOptions): Promise<boolean> {
  return files.length === 0 || yes || (await confirmed(cli, 'mcp add', isKnown ? `Replace ${name} by this?` : `Add ${name}?`));
}

/** Agents that name a server in the same way share it, so all that have it get the same. */
function filesAfter(files: AgentFile[], wanted: string[], name: string, entry: JsonObject): (ChangedFile & { before: JsonObject | undefined })[] {
  return files.flatMap((file) => {
    const before = serverIn(file, name);
    if (!before && !wanted.includes(file.id)) return [];
    const after = { ...entry, ...keptOf(before, entry) };
    if (isDeepStrictEqual(before, after)) return [];
    const text = withEntry(file.text, 'mcp', name, after);
    if (text !== undefined) return [{ file, text, before }];
    const fix = `Write this below mcp: ${name}: ${yamlLine(after)}`;
    throw failure('INVALID_ARGUMENT', { what: file.path, problem: 'its servers are written in a way that is not changed here', fix });
  });
}

/** A server of another kind takes other settings. */
function keptOf(before: JsonObject | undefined, after: JsonObject): JsonObject {
  if (!before || before['where'] !== after['where']) return {};
  const kept = originOf(before) !== undefined && originOf(before) === originOf(after) && !hasAuthorization(after) ? [...KEPT, 'oauth'] : KEPT;
  return Object.fromEntries(Object.entries(before).filter(([key]) => kept.includes(key)));
}

/** Users sign in at one server, and tokens of the worker are for one. */
function originOf({ url }: JsonObject): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : undefined;
}

function hasAuthorization({ headers }: JsonObject): boolean {
  return isObject(headers) && Object.hasOwn(headers, 'authorization');
}

function serverIn({ value: { mcp } }: AgentFile, name: string): JsonObject | undefined {
  const server = isObject(mcp) && Object.hasOwn(mcp, name) ? mcp[name] : undefined;
  return isObject(server) ? server : undefined;
}
