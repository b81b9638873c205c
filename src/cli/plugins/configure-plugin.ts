import type { Longshore, PluginState } from '../../client.ts';
import { failure } from '../../contracts/errors.ts';
import { inexactNumberIn } from '../../contracts/foreign-json.ts';
import { isObject, type Json, type JsonObject } from '../../contracts/json.ts';
import { printFact, printJson, type Cli } from '../output/cli.ts';
import { whoFollows } from './show-plugins.ts';

export interface ConfigOptions {
  set?: string[];
  unset?: string[];
  replace?: string;
  ifVersion?: number;
  json?: boolean;
}

export async function configurePlugin(cli: Cli, longshore: Longshore, id: string, options: ConfigOptions): Promise<void> {
  const { set = [], unset = [], replace, json = false } = options;
  const state = await longshore.plugins.get(id);
  if (set.length === 0 && unset.length === 0 && replace === undefined) return showConfig(cli, state, json);
  const config = replace === undefined ? structuredClone(state.config) : parseObject(replace);
  for (const key of unset) remove(config, key.split('.'));
  for (const assignment of set) assign(config, assignment);
  const configVersion = await longshore.plugins.configure(id, config, versionFor(state, options));
  if (json) return printJson(cli, { config, configVersion });
  const next = `If a worker rejects it, the reason is in: longshore plugins show ${id}`;
  printFact(cli, `${id} has version ${configVersion} of its configuration; ${whoFollows(state)}. ${next}`);
}

function showConfig(cli: Cli, { config, configVersion, configProblem }: PluginState, json: boolean): void {
  printJson(cli, json ? { config, configVersion, ...(configProblem !== undefined && { configProblem }) } : config);
}

/** A change of single keys is based on the version that was read, so that it does not overwrite another caller's change. */
function versionFor({ configVersion }: PluginState, { replace, ifVersion }: ConfigOptions): { ifVersion?: number } {
  if (ifVersion !== undefined) return { ifVersion };
  return replace === undefined ? { ifVersion: configVersion } : {};
}

function parseObject(text: string): JsonObject {
  const value = parse(text);
  if (isObject(value)) return value;
  throw failure('INVALID_ARGUMENT', { what: '--replace', problem: `${JSON.stringify(text)} is not a JSON object`, fix: `Write it as '{"key": "value"}'` });
}

function parse(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return text;
  }
  const number = inexactNumberIn(text);
  if (number === undefined) return value;
  throw failure('INVALID_ARGUMENT', { what: 'value', problem: `the number ${number} would be rounded`, fix: `Write it as a string: '"${number}"'` });
}

function assign(config: JsonObject, assignment: string): void {
  const at = assignment.indexOf('=');
  if (at < 1) throw failure('INVALID_ARGUMENT', { what: '--set', problem: `"${assignment}" has no key or no =`, fix: 'Write --set key=value' });
  const path = assignment.slice(0, at).split('.');
  const last = path.pop() ?? '';
  const holder = path.reduce((holding, key) => stepInto(holding, key, true), config);
  holder[known(last)] = parse(assignment.slice(at + 1));
}

function remove(config: JsonObject, path: string[]): void {
  const last = path.pop() ?? '';
  const holder = path.reduce((holding, key) => stepInto(holding, key, false), config);
  if (!Object.hasOwn(holder, known(last))) {
    const problem = `the configuration has no "${[...path, last].join('.')}"`;
    throw failure('INVALID_ARGUMENT', { what: '--unset', problem, fix: 'Look at it: longshore plugins config <id>' });
  }
  delete holder[last];
}

function stepInto(holding: JsonObject, key: string, make: boolean): JsonObject {
  const inner = Object.hasOwn(holding, known(key)) ? holding[key] : undefined;
  if (isObject(inner)) return inner;
  const made: JsonObject = {};
  if (make) holding[key] = made;
  return made;
}

function known(key: string): string {
  if (key !== '__proto__') return key;
  throw failure('INVALID_ARGUMENT', { what: 'key', problem: '"__proto__" is not accepted', fix: 'Name another' });
}
