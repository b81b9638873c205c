import { isObject, type JsonObject } from '../../contracts/json.ts';
import { cutMiddle, visibleJson, visibleLine } from '../../contracts/visible-text.ts';

const LONGEST_INPUT = 600;
const LONGEST_LINE = 200;
const RESULT_LINES = 8;
/** A person approves what is shown here, so more of it is shown, and always its end. */
const LONGEST_APPROVAL = 8_000;

/** What a call will do, in one line: the command, code, path or pattern; other arguments as JSON. */
export function callText(tool: string, given: JsonObject): string {
  return `${visibleLine(tool)}  ${cutMiddle(inputOf(given), LONGEST_INPUT)}`;
}

/** The arguments that a person is asked to allow: all of them; for a very long text the beginning, the length of the omitted part, and the end. */
export function approvalText(given: JsonObject): string {
  return cutMiddle(visibleJson(given), LONGEST_APPROVAL);
}

function inputOf(given: JsonObject): string {
  const { command, code, path, pattern, ...rest } = given;
  const more = (shown: JsonObject) => (Object.keys(shown).length === 0 ? '' : `  ${visibleJson(shown)}`);
  if (typeof command === 'string') return `$ ${visibleLine(command)}${more({ ...definedOf({ code, path, pattern }), ...rest })}`;
  if (typeof code === 'string') return `${visibleLine(code)}${more({ ...definedOf({ path, pattern }), ...rest })}`;
  if (typeof pattern === 'string') return `${visibleLine(pattern)}${typeof path === 'string' ? ` in ${visibleLine(path)}` : ''}${more(rest)}`;
  return typeof path === 'string' ? `${visibleLine(path)}${more(rest)}` : visibleJson(given);
}

function definedOf(given: Record<string, JsonObject[string] | undefined>): JsonObject {
  return Object.fromEntries(Object.entries(given).filter((entry): entry is [string, JsonObject[string]] => entry[1] !== undefined));
}

export interface ShownResult {
  good: boolean;
  /** `exit code 1, 0.2 s`, `12 lines, 0.1 s`, or an answer of one line. */
  headline: string;
  /** The output of the call, as lines; cut lines are marked. */
  output: string[];
}

interface GivenResult {
  isError: boolean;
  text: string;
  durationMs?: number;
  /** Where the whole output can be read. */
  where: string;
}

/** How a call ended. For a command, exit code and time are shown; the output comes from its result. */
export function shownResultOf({ isError, text, durationMs, where }: GivenResult): ShownResult {
  const end = commandEnd(text);
  const time = end?.durationMs ?? durationMs;
  const took = time === undefined ? '' : `, ${(time / 1000).toFixed(1)} s`;
  if (!end) {
    const { shown, left } = boundedLines(text, RESULT_LINES, where);
    const count = text.trimEnd().split('\n').length;
    if (count > 1) return { good: !isError, headline: `${count} lines${took}`, output: [...shown, ...left] };
    return { good: !isError, headline: `${shown[0] ?? 'nothing'}${took === '' ? '' : ` (${took.slice(2)})`}`, output: [] };
  }
  const texts = [end.stdout, end.stderr, end.error].flatMap((part) => (part === undefined || part.trim() === '' ? [] : [part.trimEnd()]));
  const { shown, left } = boundedLines(texts.join('\n'), RESULT_LINES, where);
  const good = !isError && (end.exitCode === undefined ? end.status === 'finished' : end.exitCode === 0);
  return { good, headline: `${endText(end)}${took}${end.problem === undefined ? '' : `. ${visibleLine(end.problem)}`}`, output: [...shown, ...left] };
}

/** The first and the last lines of a text, each cut when it is very long, and a line about those between. */
function boundedLines(text: string, limit: number, where: string): { shown: string[]; left: string[] } {
  const lines = text.trimEnd().split('\n').map(shownLine);
  if (text.trim() === '') return { shown: [], left: [] };
  if (lines.length <= limit) return { shown: lines, left: [] };
  return { shown: lines.slice(0, limit), left: [moreLines(lines.length - limit, where)] };
}

export function moreLines(count: number, where: string): string {
  return `… ${count} more ${count === 1 ? 'line' : 'lines'}: ${where}`;
}

/** A line of output; it takes one line of the terminal or a few. */
export function shownLine(line: string): string {
  return cutMiddle(visibleLine(line), LONGEST_LINE);
}

interface CommandEnd {
  status: string;
  exitCode?: number;
  signal?: string;
  problem?: string;
  stdout?: string;
  stderr?: string;
  error?: string;
  durationMs?: number;
}

/** Results of commands and code begin like this. A long result is cut in its middle and is then no longer valid JSON. */
const BEGINNING = /^\{"status":"(?<status>\w+)"(?:,"exitCode":(?<exitCode>\d+))?(?:,"signal":"(?<signal>\w+)")?,"(?:stdout|problem|durationMs|executionCount)"/;

function commandEnd(text: string): CommandEnd | undefined {
  const groups = BEGINNING.exec(text)?.groups;
  if (groups?.['status'] === undefined) return undefined;
  const whole = parsed(text);
  const texts = Object.fromEntries(['problem', 'stdout', 'stderr', 'error'].flatMap((name) => (typeof whole[name] === 'string' ? [[name, whole[name]]] : [])));
  const { durationMs } = whole;
  return {
    status: groups['status'],
    ...(groups['exitCode'] !== undefined && { exitCode: Number(groups['exitCode']) }),
    ...(groups['signal'] !== undefined && { signal: groups['signal'] }),
    ...(typeof durationMs === 'number' && { durationMs }),
    ...texts,
  };
}

/** A result of several parts has its JSON in the first line. */
function parsed(text: string): Record<string, unknown> {
  for (const json of [text, text.split('\n')[0] ?? '']) {
    try {
      const value = JSON.parse(json) as unknown;
      if (isObject(value)) return value;
    } catch {
      // The JSON was cut in its middle.
    }
  }
  return {};
}

function endText({ status, exitCode, signal }: CommandEnd): string {
  const how = exitCode === undefined ? (signal === undefined ? status : `ended by ${signal}`) : `exit code ${exitCode}`;
  return status === 'timeout' ? `timed out, ${how === 'timeout' ? 'ended' : how}` : how;
}
