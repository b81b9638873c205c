import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isCollection, isScalar, LineCounter, parseDocument, type Document } from 'yaml';
import { readEnvironment } from '../config.ts';
import type { Agent } from '../contracts/agent.ts';
import { failure } from '../contracts/errors.ts';
import { fillInEnvironment } from './fill-in-environment.ts';
import { parseAgent, type AgentSource } from './parse-agent.ts';

const YAML_FILE = /\.ya?ml$/;
const MODULE_FILE = /(?<!\.d)\.(js|mjs|ts)$/;

/**
 * Reads all agent files of a directory: YAML, and modules with a `defineAgent` as their default export. Directories below are not looked at.
 * @throws AGENT_INVALID naming file, line, path and fix; CONFIG_INVALID when the directory cannot be read.
 */
export async function loadAgents(directory: string): Promise<Map<string, Agent>> {
  const agents = new Map<string, Agent>();
  const files = new Map<string, string>();
  for (const name of await agentFiles(directory)) {
    const path = resolve(directory, name);
    const agent = await (YAML_FILE.test(name) ? loadAgent(path) : importAgent(path));
    const first = files.get(agent.id);
    if (first !== undefined) {
      throw failure('AGENT_INVALID', { file: name, path: 'id', problem: `"${agent.id}" is also the id of ${first}`, fix: 'Give one of them another id' });
    }
    files.set(agent.id, name);
    agents.set(agent.id, agent);
  }
  return agents;
}

async function importAgent(path: string): Promise<Agent> {
  const module = (await import(pathToFileURL(path).href)) as { default?: Partial<Agent> };
  const { id, model, tools, budget } = module.default ?? {};
  if (id && model && tools && budget) return module.default as Agent;
  const problem = 'has no agent as its default export';
  throw failure('AGENT_INVALID', { file: basename(path), path: '(the whole file)', problem, fix: 'Write: export default defineAgent({ … })' });
}

async function loadAgent(path: string): Promise<Agent> {
  const file = basename(path);
  const lines = new LineCounter();
  const document = parseDocument(await readFile(path, 'utf8'), { lineCounter: lines });
  const [broken] = document.errors;
  if (broken) {
    const at = broken.linePos?.[0].line;
    const problem = `is not YAML (${broken.message.split('\n')[0]?.replace(/:$/, '')})`;
    throw failure('AGENT_INVALID', { file: at === undefined ? file : `${file}:${at}`, path: '(the whole file)', problem, fix: 'Mend that line' });
  }
  const written: unknown = document.toJS();
  const source: AgentSource = { file, directory: dirname(path), written, locate: (at) => withLine(file, document, lines, at) };
  // Secrets of servers are filled in when these are connected to, so that no agent holds them.
  const { mcp, ...rest } = isRecord(written) ? written : {};
  const filled = fillInEnvironment(isRecord(written) ? rest : written, readEnvironment, (name, at) =>
    failure('AGENT_INVALID', {
      file: source.locate(at),
      path: at.join('.'),
      problem: `the environment variable ${name} is not set`,
      fix: `Set ${name} for the worker, or write the value into the file`,
    }),
  );
  return parseAgent(withId(mcp === undefined ? filled : { ...(filled as object), mcp }, basename(path, extname(path))), source);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

async function agentFiles(directory: string): Promise<string[]> {
  try {
    const names = await readdir(directory);
    return names.filter((name) => YAML_FILE.test(name) || MODULE_FILE.test(name)).toSorted();
  } catch (error) {
    const problem = `the directory of agents cannot be read (${(error as Error).message})`;
    throw failure('CONFIG_INVALID', { name: 'LONGSHORE_AGENTS', problem, fix: 'Make it, or name another' }, error);
  }
}

function withId(definition: unknown, id: string): unknown {
  if (definition === null || typeof definition !== 'object' || Array.isArray(definition)) return definition;
  return { id, ...definition };
}

/** `file:line` of a path, or of the nearest part of it that is in the file. */
function withLine(file: string, document: Document, lines: LineCounter, path: PropertyKey[]): string {
  for (let length = path.length; length > 0; length -= 1) {
    const offset = offsetOf(document, path.slice(0, length));
    if (offset !== undefined) return `${file}:${lines.linePos(offset).line}`;
  }
  return file;
}

function offsetOf(document: Document, path: PropertyKey[]): number | undefined {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (!isCollection(parent)) return undefined;
  const last = path.at(-1);
  for (const [index, item] of parent.items.entries()) {
    if (index === last) return (item as { range?: [number, number, number] }).range?.[0];
    const key = (item as { key?: unknown }).key;
    if (isScalar(key) && key.value === last) return key.range?.[0];
  }
  return undefined;
}
