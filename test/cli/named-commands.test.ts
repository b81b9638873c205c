import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runLine } from './support.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Commands that have commands of their own. */
const GROUPS = /^(?:approvals|hosts|keys|limits|mcp|memory|plugins|retention|sandbox|schedule|sign-ins|skills|template|webhooks)$/;

/** What follows the name of the product in texts that name no command: what keys are derived for, what is said of a command. */
const NO_COMMAND = /^(?:secret|payload|\$\{ownVersion\(\)\}|…)$/;
const TOLD = /^says$/;

interface Named {
  where: string;
  words: string[];
}

async function textsBelow(folder: string, ending: string): Promise<[string, string][]> {
  const found = (await readdir(join(ROOT, folder), { recursive: true })).filter((name) => name.endsWith(ending)).map((name) => join(folder, name));
  return Promise.all(found.map(async (name) => [name, await readFile(join(ROOT, name), 'utf8')] as [string, string]));
}

/** The words of a command line, up to a pipe, a comment or the `--` before the words of another program. */
function wordsOf(line: string): string[] {
  const words = line.match(/'[^']*'|"[^"]*"|[^\s'"]+/g) ?? [];
  const end = words.findIndex((word) => /^(?:--|[|;#&>].*)$/.test(word) || TOLD.test(word));
  return words.slice(0, end === -1 ? undefined : end);
}

/** Lines of shell in the guides, and commands within their text. */
async function inGuides(): Promise<Named[]> {
  const readme: [string, string] = ['README.md', await readFile(join(ROOT, 'README.md'), 'utf8')];
  return [readme, ...(await textsBelow('docs/guides', '.md'))].flatMap(([where, text]) => {
    const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block = '']) => block.replaceAll('\\\n', '').split('\n'));
    const prose = text.replaceAll(/^```.*?^```/gms, '');
    const spans = [...prose.matchAll(/`((?:[A-Z_]+=\S+ )*longshore [^`]+)`/g)].map(([, span = '']) => span);
    const short = [...prose.matchAll(/`((?:pause|resume|run|chat|show|close|export|import|fork|rewind|interrupt|setup) --[a-z][^`]*)`/g)];
    return [...blocks, ...spans, ...short.map(([, span = '']) => `longshore ${span}`)]
      .flatMap((line) => line.split(' | '))
      .flatMap((line) => {
        const [, command] = /^(?:[A-Z_]+=\S+ )*longshore (.+)$/.exec(line.trim()) ?? [];
        return command === undefined ? [] : [{ where, words: wordsOf(command) }];
      });
  });
}

/** Commands that programs tell people to run: in texts, not in comments. */
async function inPrograms(): Promise<Named[]> {
  return (await textsBelow('src', '.ts')).flatMap(([where, text]) =>
    text
      .split('\n')
      .filter((line) => !/^\s*(?:\/\/|\*|\/\*)/.test(line))
      .flatMap((line) => [...line.matchAll(/(?:: |`|\()longshore ((?:\$\{[^}]*\}|\{\w+\}|<\w+>|[a-z_-]+|…| )+)/g)])
      .map(([, words = '']) => ({ where, words: wordsOf(words) })),
  );
}

interface Usage {
  /** The words of the command line that are its name. */
  depth: number;
  arguments: string[];
  help: string;
}

const known = new Map<string, Promise<Usage | undefined>>();

async function usageOf(words: string[]): Promise<Usage | undefined> {
  const depth = GROUPS.test(words[0] ?? '') && /^[a-z]/.test(words[1] ?? '') ? 2 : 1;
  const name = words.slice(0, depth).join(' ');
  const asked = known.get(name) ?? askUsage(name, depth);
  known.set(name, asked);
  return asked;
}

async function askUsage(name: string, depth: number): Promise<Usage | undefined> {
  const { code, out } = await runLine(undefined, [...name.split(' '), '--help']);
  const [, found, rest = ''] = new RegExp(`^Usage: longshore (${name})(?:\\|\\w+)?((?: [[<][^\\n]*)?)$`, 'm').exec(out) ?? [];
  if (code !== 0 || found === undefined) return undefined;
  return {
    depth,
    help: out,
    arguments: [...rest.matchAll(/[<[]([\w.-]+)[>\]]/g)].map(([, argument = '']) => argument).filter((argument) => argument !== 'options'),
  };
}

/** The arguments of a command beside its options, or what is wrong with these. */
function placesIn(words: string[], { depth, help }: Usage): string[] | string {
  const places: string[] = [];
  for (let at = depth; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (!word.startsWith('--')) {
      places.push(word);
      continue;
    }
    const [option = ''] = word.split('=');
    const found = new RegExp(`^ +(?:-\\w, )?${option}( <[^>]+>)?(?: |$)`, 'm').exec(help);
    if (!found) return `it has no option ${option}`;
    if (found[1]?.endsWith('...>') === true) while (/^[^-]/.test(words[at + 1] ?? '')) at += 1;
    else if (found[1] !== undefined) at += 1;
  }
  return places;
}

/** What is wrong with a command that a text names; undefined: nothing. */
async function faultOf({ words }: Named): Promise<string | undefined> {
  const usage = await usageOf(words);
  if (!usage) return 'there is no such command';
  const places = placesIn(words, usage);
  if (typeof places === 'string') return places;
  const most = usage.arguments.some((argument) => argument.endsWith('...')) ? Infinity : usage.arguments.length;
  if (places.filter((word) => word !== '…').length > most) return `it takes ${most} arguments`;
  const isWrong = places.some((word, at) => /conv_|chat\.id|conversation/i.test(word) && usage.arguments[at] === 'agent');
  return isWrong ? 'it takes an agent there, and no conversation' : undefined;
}

async function faultsOf(named: Named[]): Promise<string[]> {
  const commands = named.filter(({ words }) => !NO_COMMAND.test(words[0] ?? ''));
  const found = await Promise.all(commands.map(async (one) => [one, await faultOf(one)] as const));
  return found.flatMap(([{ where, words }, fault]) => (fault === undefined ? [] : [`${where}: longshore ${words.join(' ')}: ${fault}`]));
}

test('every command that the guides name exists, with its options and as many arguments', async () => {
  const named = await inGuides();
  expect(named.length).toBeGreaterThan(150);
  expect(await faultsOf(named)).toEqual([]);
});

test('every command that programs tell people to run exists, with its options and as many arguments', async () => {
  const named = await inPrograms();
  expect(named.length).toBeGreaterThan(50);
  expect(await faultsOf(named)).toEqual([]);
});

test('no program tells people to run a script that only a checkout has', async () => {
  const found = (await textsBelow('src', '.ts')).flatMap(([where, text]) =>
    text.split('\n').flatMap((line) => (/npm run (?!longshore --)/.test(line) && !/^\s*(?:\/\/|\*|\/\*)/.test(line) ? [`${where}: ${line.trim()}`] : [])),
  );
  expect(found).toEqual([]);
});
