import { isFailure } from '../../../../contracts/errors.ts';
import type { JsonObject } from '../../../../contracts/json.ts';
import type { PluginTimer } from '../../../../contracts/plugins/timer.ts';
import type { ToolContext } from '../../../api/define-plugin.ts';
import { directoryFor } from '../../shared/python/deliver.ts';
import type { Reached } from '../../shared/python/reached.ts';
import type { Described } from './described.ts';

/** Below the home of the plugin's sandbox. */
const PLACE = '/home/user/.longshore-calls';
const MOST_FILES = 20;
const LONGEST_PATH = 1024;

type Known = Pick<ToolContext, 'conversationId' | 'userId' | 'agentId'>;

/** The facts about its caller that the plugin receives; with its timers in the conversation, if it uses any. */
export async function callerOf(
  { conversationId, userId, agentId }: Known,
  of: string,
  { setsTimers, timers }: Pick<Described, 'setsTimers'> & Pick<Reached, 'timers'>,
): Promise<JsonObject> {
  const waiting = setsTimers ? (await timers.waiting(conversationId)).map(asPluginsHaveThem) : [];
  const place = { directory: directoryFor({ callId: of }), place: `${PLACE}/${of}` };
  return { chat_key: conversationId, user_id: userId, agent_id: agentId, files: {}, timers: waiting, ...place };
}

function asPluginsHaveThem({ timerId, dueMs, text, temporary }: PluginTimer): JsonObject {
  return { id: timerId, due: Math.floor(dueMs / 1000), text, temporary };
}

/**
 * Copies the files that the arguments name from the conversation's sandbox to that of the plugin, and returns the copies by their names. The plugin's functions
 * that read files do not wait, so what they may read has to be there before the call.
 */
export async function bringFiles(
  input: JsonObject,
  { callId, files, sandbox }: Pick<ToolContext, 'callId' | 'files' | 'sandbox'>,
): Promise<Record<string, string>> {
  const brought: Record<string, string> = {};
  for (const [index, path] of [...pathsIn(input)].slice(0, MOST_FILES).entries()) {
    const content = await files.get(path).catch(ignoreUnreadable);
    if (!content) continue;
    const copy = `${PLACE}/${callId}/brought/${index}/${path.split('/').at(-1)}`;
    const handle = await sandbox.handle();
    // An earlier attempt at this call may have brought it, and the plugin may be reading it.
    if (!(await handle.fileExists(copy))) await handle.writeFile(copy, content);
    brought[path] = copy;
  }
  return brought;
}

/** Not every text that looks like a path is one. The plugin says what it thinks of a file that it does not get. */
function ignoreUnreadable(error: unknown): undefined {
  if (!isFailure(error, 'FILE_NOT_FOUND') && !isFailure(error, 'FILE_FAILED')) throw error;
}

function pathsIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value === 'string' && isPathLike(value)) found.add(value);
  else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) pathsIn(part, found);
  return found;
}

/** URLs, data URLs and most sentences are none. */
function isPathLike(text: string): boolean {
  if (text.length > LONGEST_PATH || /\p{Cc}/u.test(text) || /^[a-z][\w+.-]*:/i.test(text)) return false;
  return text.startsWith('/') || (!/\s/.test(text) && text.includes('/')) || /\.\w{1,8}$/.test(text);
}
