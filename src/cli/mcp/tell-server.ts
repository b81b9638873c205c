import { relative } from 'node:path';
import { shellWord } from '../../common/shell-quoted.ts';
import { isObject, type Json, type JsonObject } from '../../contracts/json.ts';
import type { ChangedFile } from '../../definitions/edit/agent-files.ts';
import { yamlLine } from '../../definitions/edit/edit-yaml.ts';
import type { ServerDocument } from '../../definitions/mcp-registry/server-document.ts';
import type { RegistryEntry } from '../../definitions/mcp-registry/to-entry.ts';
import { printFact, printJson, printLine, type Cli } from '../output/cli.ts';

export interface ServerPlan extends RegistryEntry {
  /** Its name here. */
  name: string;
  document: ServerDocument;
  files: (ChangedFile & { before: JsonObject | undefined })[];
}

export function showServer(cli: Cli, { document, entry, given, left, files }: ServerPlan): void {
  printFact(cli, `${document.name} ${document.version}`);
  for (const line of document.description.split('\n')) printFact(cli, `  ${line}`);
  for (const line of whatItIs(entry)) printFact(cli, line);
  for (const { variable, as, description, isSecret } of given) {
    printFact(cli, `needs the worker's variable ${variable}, as its ${as}${isSecret ? ', a secret' : ''}${description === '' ? '' : `: ${description}`}`);
  }
  for (const one of left) printFact(cli, `left out: ${one}`);
  for (const { file, before } of files) {
    printFact(cli, `is written into ${relative(process.cwd(), file.path)}`);
    if (before) printFact(cli, `  in place of ${yamlLine(before)}`);
  }
}

function whatItIs({ url, command, args, where, env, headers }: JsonObject): string[] {
  const pairs = (what: string, values: Json | undefined) =>
    isObject(values) ? Object.entries(values).map(([name, value]) => `${what} ${name}: ${textOf(value)}`) : [];
  if (url !== undefined) return [`connects to ${textOf(url)}`, ...pairs('header', headers)];
  const words = [command, ...(Array.isArray(args) ? args : [])].map((word) => shellWord(textOf(word)));
  const place = where === 'host' ? "beside the worker, with all rights of the worker's user" : 'in the sandbox of each conversation that calls it';
  return [`runs ${words.join(' ')}`, `runs ${place}`, ...pairs('variable', env)];
}

export function tellAdded(
  cli: Cli,
  { name, document, entry, given, left, from, files }: ServerPlan,
  { json, isKnown }: { json: boolean; isKnown: boolean },
): void {
  const entryLine = `mcp: { ${name}: ${yamlLine(entry)} }`;
  if (json) {
    return printJson(cli, { name, server: document.name, version: document.version, entry, variables: given, left, agents: files.map(({ file }) => file.id) });
  }
  printLine(cli);
  if (files.length > 0) printFact(cli, `Added ${name}.`);
  else if (isKnown) printFact(cli, `${name} is there already, and nothing has changed.`);
  else printFact(cli, `In the file of an agent:  ${entryLine}`);
  if (entry['where'] === 'host') printFact(cli, `Workers start it if they may:  LONGSHORE_HOST_PLUGINS=mcp:${name}`);
  if (entry['where'] === 'sandbox') printFact(cli, `The sandbox needs ${textOf(entry['command'])}, and these hosts in its egress: ${from.join(', ')}`);
  if (entry['url'] !== undefined) printLine(cli, 'What is at the address can change at any time: an approval holds for the tools that were listed then.');
  printFact(cli, `Its tools are called if the agent has them:  tools: ['${name}:*']`);
  printLine(cli, 'Workers read the files of agents when they start.');
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}
