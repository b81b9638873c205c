import { setTimeout as sleep } from 'node:timers/promises';
import { anySignal } from '../../../common/any-signal.ts';
import { cutMiddle } from '../../../contracts/visible-text.ts';
import type { McpGuest } from '../../../contracts/mcp/server.ts';
import { deferred } from '../../../common/deferred.ts';
import type { Logger } from '../../../platform/log.ts';
import type { SandboxServer } from '../../../sandbox/api/host-methods.ts';
import type { Plugin } from '../../api/define-plugin.ts';
import { createGuestCaller } from './call-guest.ts';
import type { ConnectedServer } from './connected-server.ts';
import { fillInServer, type ReadEnvironment } from './connection/fill-in-server.ts';
import type { ListedTools } from './offers/listed-tools.ts';
import { createListsOfConversations, type ListShelf } from './lists-of-conversations.ts';
import { createServerPlugin } from './server-plugin.ts';

export interface GuestServerParts {
  name: string;
  server: McpGuest;
  readEnvironment: ReadEnvironment;
  log: Logger;
  onChange: (plugin: Plugin) => void;
  /** Whether operators have enabled it at this moment. */
  isEnabled: boolean;
  /** Stores the lists of conversations. */
  store: ListShelf;
  /** Lists the server's tools in a sandbox of its own; `again` ignores a stored list. */
  list: (server: SandboxServer, options: { again: boolean }) => Promise<ListedTools>;
  /** Longest pause between two attempts to list, in milliseconds. Default 30 000. */
  maxPauseMs?: number;
}

const FIRST_PAUSE_MS = 500;

/**
 * A server that runs in the sandbox of each conversation. Its tools are listed once in a sandbox of its own, with retries until that succeeds. When the server
 * reports a change in the sandbox of a conversation, that conversation gets the tools that are listed there. Calls are execs of the conversation's sandbox, so
 * that each takes effect once even when the worker ends.
 */
export function serveFromSandboxes(parts: GuestServerParts): ConnectedServer {
  const { name, server, readEnvironment, log, onChange, list, store, maxPauseMs = 30_000 } = parts;
  const closed = new AbortController();
  const first = deferred<void>();
  let { isEnabled } = parts;
  let turned = new AbortController();
  let listed: Promise<void> = Promise.resolve();
  const listInTurn = (again: boolean) => {
    const signal = anySignal([closed.signal, turned.signal]);
    listed = listed.then(() => listUntilKnown(again, signal));
  };
  const own = createListsOfConversations({
    name,
    program: programOf,
    store,
    common: () => published.plugin(),
    withTools: (tools) => published.withTools(tools),
    log,
  });
  const hooks = { ...own, setEnabled, restart: () => isEnabled && listInTurn(true) };
  const run = createGuestCaller({ name, server, program: programOf });
  const published = createServerPlugin({ name, limits: server, log, run, onChange, hooks });
  if (isEnabled) listInTurn(false);
  else first.resolve();
  return {
    plugin: published.plugin,
    started: first.promise,
    async [Symbol.asyncDispose]() {
      closed.abort();
      await listed;
    },
  };

  function setEnabled(next: boolean): void {
    if (next === isEnabled) return;
    isEnabled = next;
    turned.abort();
    turned = new AbortController();
    if (isEnabled) listInTurn(false);
  }

  async function listUntilKnown(again: boolean, signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        published.take(await list(programOf(), { again }));
        if (failures > 0) published.recover('Its tools could be listed');
        break;
      } catch (error) {
        published.fail(`Its tools cannot be listed: ${cutMiddle((error as Error).message, 1000)}; it is tried again`);
      }
      first.resolve();
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** failures, maxPauseMs), undefined, { signal }).catch(() => undefined);
    }
    first.resolve();
  }

  function programOf(): SandboxServer {
    const { command, args, env, directory, sampling } = server;
    const more = { ...(directory !== undefined && { directory }), ...(sampling && { maySample: true as const }) };
    return { name, command, args, env: fillInServer(name, env, readEnvironment), ...more };
  }
}
