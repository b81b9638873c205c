import { z } from 'zod';
import { RecentMap } from '../../../common/recent-map.ts';
import { isFailure } from '../../../contracts/errors.ts';
import { freeExec } from '../../../contracts/call-ids.ts';
import type { Json, JsonObject } from '../../../contracts/json.ts';
import type { Logger } from '../../../platform/log.ts';
import type { SandboxServer, ServerRequest } from '../../../sandbox/api/host-methods.ts';
import type { PluginShelf } from '../../../store/plugin-rows.ts';
import type { Store } from '../../../store/store.ts';
import type { Plugin } from '../../api/define-plugin.ts';
import type { PluginConversation, PluginDetails, ServerSandbox } from '../../api/plugin.ts';
import { askForTools } from './ask-for-tools.ts';
import { LISTED_TOOLS, type ListedTools } from './offers/listed-tools.ts';
import { lookAtWatched, type WatchStore } from './offers/watched-resources.ts';
import { versionOf } from './server-plugin.ts';

export type ListShelf = Pick<Store['pluginStore'], 'entry' | 'set'>;

interface Parts {
  name: string;
  program: () => SandboxServer;
  store: ListShelf;
  /** The plugin for all conversations that have no list of their own. */
  common: () => Plugin;
  /** The same with other tools. */
  withTools: (listed: ListedTools) => Plugin;
  log: Logger;
}

const KEY = 'tools';
const KEPT = z.object({ mark: z.string(), listed: LISTED_TOOLS.optional() });
type Kept = { mark: string; listed?: ListedTools | undefined };
/** Short, because a step waits for it. */
const LIST_TIMEOUT_MS = 10_000;
const MOST_PLUGINS = 50;

/**
 * The tools that servers in the sandboxes of conversations list after a change. Such a list is valid for that conversation only, because code in its sandbox
 * can make the server send anything. It is stored with the conversation, so that all workers know it even when the sandbox is gone.
 */
export function createListsOfConversations({
  name,
  program,
  store,
  common,
  withTools,
  log,
}: Parts): Required<Pick<PluginDetails, 'inConversation' | 'lookInto'>> {
  const plugins = new RecentMap<string, Plugin>(MOST_PLUGINS);
  return {
    async inConversation(conversation) {
      const { listed } = (await read(conversation)) ?? {};
      return listed && pluginWith(listed);
    },
    async lookInto(conversation, sandbox, onRestart) {
      const mark = await sandbox.serverMark(name);
      const before = await read(conversation);
      if (mark === undefined || mark === (before?.mark ?? '')) return;
      // The mark was read before: a change during what follows has a new mark.
      await lookAtWatched(watchStore(store, { ...shelfOf(conversation), userId: conversation.userId }), (request) => askOnce(sandbox, program(), request));
      const listed = await ask(() => askForTools(sandbox, program(), { timeoutMs: LIST_TIMEOUT_MS, onRestart }), conversation);
      await write(conversation, { mark, listed: listed ?? before?.listed }, before);
    },
  };

  /** Undefined when the server does not list them; it is asked again after its next change. */
  async function ask(list: () => Promise<ListedTools>, { conversationId }: PluginConversation): Promise<ListedTools | undefined> {
    try {
      const listed = await list();
      log.info({ plugin: name, conversationId, tools: listed.tools.length }, 'the tools of an MCP server in a sandbox have changed');
      return listed;
    } catch (error) {
      if (isFailure(error)) throw error;
      log.warn({ plugin: name, conversationId, err: error }, 'the changed tools of an MCP server in a sandbox could not be listed');
      return undefined;
    }
  }

  function pluginWith(listed: ListedTools): Plugin | undefined {
    const version = versionOf(listed);
    if (version === common().version) return undefined;
    const plugin = plugins.get(version) ?? withTools(listed);
    plugins.set(version, plugin);
    return plugin;
  }

  async function read(conversation: PluginConversation): Promise<Kept | undefined> {
    const found = await store.entry(shelfOf(conversation), KEY);
    return KEPT.safeParse(found?.value).data;
  }

  async function write(conversation: PluginConversation, { mark, listed }: Kept, before: Kept | undefined): Promise<void> {
    try {
      await store.set(shelfOf(conversation), KEY, { mark, ...(listed && { listed: listed as unknown as Json }) });
    } catch (error) {
      if (!isFailure(error, 'PLUGIN_STORE_REFUSED') || listed === before?.listed) throw error;
      log.warn({ plugin: name, conversationId: conversation.conversationId, err: error }, 'the changed tools of an MCP server in a sandbox are too many');
      await write(conversation, { mark, listed: before?.listed }, before);
    }
  }

  function shelfOf({ tenantId, conversationId }: PluginConversation): PluginShelf {
    return { pluginId: name, tenantId, conversationId };
  }
}

/** What is watched, on the shelf that the tools of a server have it on. */
function watchStore(store: ListShelf, shelf: PluginShelf): WatchStore {
  return { entry: (key) => store.entry(shelf, key), set: (key, value, options) => store.set(shelf, key, value, options) };
}

async function askOnce(sandbox: ServerSandbox, program: SandboxServer, request: ServerRequest): Promise<JsonObject> {
  const execId = freeExec();
  const answer = await sandbox.callServer(program, request, { timeoutMs: LIST_TIMEOUT_MS, execId });
  await sandbox.forget(execId).catch(() => undefined);
  if (answer.outcome === 'answered') return answer.result;
  throw new Error(`the server did not answer ${request.method}`);
}
