import { text } from 'node:stream/consumers';
import type { Memory, MemoryOf, MemoryVersion, MemoryWriter } from '../../client.ts';
import { visibleText } from '../../contracts/visible-text.ts';
import { printFact, printJson, printLine, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';

interface Asked {
  path: string;
  of: MemoryOf & { version?: number };
  json: boolean;
}

export async function listFiles(cli: Cli, memory: Memory, { of, json }: Asked): Promise<void> {
  const files = await memory.list(of);
  if (json) return printJson(cli, files);
  if (files.length === 0) return printLine(cli, 'No files.');
  const rows = files.map((file) => [file.path, String(file.version), String(file.bytes), timeOf(file), nameOf(file.by), file.firstLine.slice(0, 60)]);
  printTable(cli, ['PATH', 'VERSION', 'BYTES', 'WRITTEN', 'BY', 'FIRST LINE'], rows);
}

export async function showFile(cli: Cli, memory: Memory, { path, of, json }: Asked): Promise<void> {
  const file = await memory.read(path, of);
  if (json) return printJson(cli, file);
  printFact(cli, `${file.path}, version ${file.version}, written ${timeOf(file)} by ${nameOf(file.by)}:`);
  // With a margin, so that no line of it looks like one of Longshore.
  for (const line of visibleText(file.content).split('\n')) printLine(cli, `  ${line}`);
}

export async function writeFile(cli: Cli, memory: Memory, { path, of, json }: Asked): Promise<void> {
  tell(cli, await memory.write(path, await text(cli.in), of), json);
}

export async function removeFile(cli: Cli, memory: Memory, { path, of, json }: Asked): Promise<void> {
  tell(cli, await memory.delete(path, of), json);
}

export async function showHistory(cli: Cli, memory: Memory, { path, of, json }: Asked): Promise<void> {
  const versions = await memory.history(path, of);
  if (json) return printJson(cli, versions);
  const rows = versions.map((version) => [String(version.version), version.removed ? 'removed' : String(version.bytes), timeOf(version), nameOf(version.by)]);
  printTable(cli, ['VERSION', 'BYTES', 'WRITTEN', 'BY'], rows);
}

function tell(cli: Cli, written: MemoryVersion, json: boolean): void {
  if (json) return printJson(cli, written);
  printFact(cli, `${written.path} is ${written.removed ? 'removed' : `written, version ${written.version}`}.`);
}

function timeOf({ at }: MemoryVersion): string {
  return at.slice(0, 19).replace('T', ' ');
}

function nameOf({ kind, id }: MemoryWriter): string {
  return `${kind} ${id}`.trim();
}
