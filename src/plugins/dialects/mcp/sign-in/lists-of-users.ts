import { z } from 'zod';
import type { Json } from '../../../../contracts/json.ts';
import { cutMiddle } from '../../../../contracts/visible-text.ts';
import { MAX_VALUE_LENGTH } from '../../../../store/plugin-store.ts';
import type { PluginShelf } from '../../../../store/plugin-rows.ts';
import { toJsonText } from '../../../../store/database/json-text.ts';
import type { Store } from '../../../../store/store.ts';
import { LONGEST_READ } from '../offers/instructions.ts';
import { LISTED_TOOLS, type ListedTools } from '../offers/listed-tools.ts';

type ListShelf = Pick<Store['pluginStore'], 'entry' | 'set'>;

interface User {
  tenantId: string;
  userId: string;
}

const MOST_PROBLEMS = 20;
const LONGEST_PROBLEM = 300;
const ROOM_FOR_NOTE = 300;
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
      await store.set(shelfOf(user), KEY, fitting(listed, url()) as unknown as Json);
    },
  };
}

/** As much of a list as a value of the store can have. Without this, a user could not use a server with more at all. */
function fitting({ tools, instructions, problems = [], ...rest }: ListedTools, url: string): { url: string; listed: ListedTools } {
  const shown = problems.slice(0, MOST_PROBLEMS).map((problem) => cutMiddle(problem, LONGEST_PROBLEM));
  const about = { ...rest, ...(instructions !== undefined && { instructions: instructions.slice(0, LONGEST_READ) }) };
  let left = MAX_VALUE_LENGTH - ROOM_FOR_NOTE - toJsonText({ url, listed: { ...about, problems: shown } }).length;
  const fits = tools.findIndex((tool) => (left -= toJsonText(tool).length + 1) < 0);
  if (fits === -1) return { url, listed: { ...about, tools, ...(shown.length > 0 && { problems: shown }) } };
  const note = `The definitions of its tools are too long to be kept for a user; the last ${tools.length - fits} tools are left out`;
  return { url, listed: { ...about, tools: tools.slice(0, fits), problems: [note, ...shown] } };
}

/** After a sign-out: what the server has listed is the user's. */
export async function forgetListOf(store: Pick<Store['pluginStore'], 'delete'>, { server, tenantId, userId }: User & { server: string }): Promise<void> {
  await store.delete({ pluginId: server, tenantId, userId }, KEY);
}
