import { z } from 'zod';
import type { Json } from '../../../../contracts/json.ts';
import type { PluginShelf } from '../../../../store/plugin-rows.ts';
import type { Store } from '../../../../store/store.ts';
import { LISTED_TOOLS, type ListedTools } from '../offers/listed-tools.ts';

type ListShelf = Pick<Store['pluginStore'], 'entry' | 'set'>;

interface User {
  tenantId: string;
  userId: string;
}

const KEY = 'tools';
const KEPT = z.object({ url: z.string(), listed: LISTED_TOOLS });

/** The tools that a server has listed for its signed-in users. Each list is for its user alone: names and descriptions may tell what is the user's. */
export interface ListsOfUsers {
  get(user: User): Promise<ListedTools | undefined>;
  put(user: User, listed: ListedTools): Promise<void>;
}

/** @param url address of the server: what another server of that name has listed is not its list */
export function createListsOfUsers(name: string, url: () => string, store: ListShelf): ListsOfUsers {
  const shelfOf = ({ tenantId, userId }: User): PluginShelf => ({ pluginId: name, tenantId, userId });
  return {
    async get(user) {
      const kept = KEPT.safeParse((await store.entry(shelfOf(user), KEY))?.value).data;
      return kept?.url === url() ? kept.listed : undefined;
    },
    async put(user, listed) {
      await store.set(shelfOf(user), KEY, { url: url(), listed: listed as unknown as Json });
    },
  };
}

/** After a sign-out: what the server has listed is the user's. */
export async function forgetListOf(store: Pick<Store['pluginStore'], 'delete'>, { server, tenantId, userId }: User & { server: string }): Promise<void> {
  await store.delete({ pluginId: server, tenantId, userId }, KEY);
}
