import { z } from 'zod';
import type { Json } from '../../contracts/json.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import { definePlugin, defineTool, type Plugin } from '../api/define-plugin.ts';
import type { PluginConversation } from '../api/plugin.ts';
import type { RegisteredTool } from '../registry/registry.ts';

export const SEARCH_TOOL = 'tools:search';

const MOST_FOUND = 20;
/** Characters of a description that are searched for words. The search blocks the worker's event loop. */
const MOST_SEARCHED = 4_000;
/** The score of a word by the place where it is found. */
const WEIGHTS = { id: 4, brief: 2, description: 2, parameters: 1 };
const PLACES = ['id', 'brief', 'description', 'parameters'] as const;

/**
 * The plugin with which a model finds the tools that it is not shown.
 * @param toolsOf the tools that may be called in a conversation
 */
export function createToolsPlugin(toolsOf: (conversation: PluginConversation) => Promise<RegisteredTool[]>): Plugin {
  const search = defineTool({
    id: 'search',
    description:
      'Finds tools that are not shown, by words of what they do, or by their ids and patterns (weather:*). It gives their descriptions and parameters; from the ' +
      'next step on they can be called like all others.',
    parameters: z.strictObject({
      query: z.string().min(1).max(400).describe('What the tool should do, or its id.'),
      limit: z.int().min(1).max(MOST_FOUND).default(5).describe(`Tools to find, at most ${MOST_FOUND}.`),
    }),
    annotations: { title: 'Find tools', readOnlyHint: true, idempotentHint: true },
    requireApproval: false,
    summarize: ({ query }) => query,
    async execute({ query, limit }, { conversationId, userId, tenantId, agentId }) {
      const tools = await toolsOf({ conversationId, userId, tenantId, agentId });
      const found = findTools(tools, query);
      return describe(found.slice(0, limit), found.length);
    },
  });
  return definePlugin({ id: 'tools', version: '1', description: 'Finding tools', tools: [search] });
}

/** `found` comes first, so that it remains in a result that is cut. */
function describe(tools: RegisteredTool[], total: number): Json {
  const found = tools.map(({ id }) => id);
  if (found.length === 0) return { found, next: 'Nothing fits. Try other words, or a plugin as a pattern, such as weather:*' };
  const left = total - tools.length;
  const more = left === 0 ? '' : ` ${left} more fit less well: to see them, give a limit of up to ${MOST_FOUND}, or words that say more.`;
  const described = tools.map(({ id, alias, description, parameters }) => ({ id, name: alias, description, parameters }));
  return { found, next: `Call them by their names, from the next step on.${more}`, tools: described };
}

/** The tools that a search has found, read from its result. */
export function foundIn(content: ContentPart[]): string[] {
  const [first] = content;
  const list = first?.type === 'text' ? /^\{"found":(\["[^\]]*"\])/.exec(first.text)?.[1] : undefined;
  return list === undefined ? [] : (JSON.parse(list) as string[]);
}

/** The best first; tools that match nothing of the query are left out. A word counts less if more tools have it. */
function findTools(tools: RegisteredTool[], query: string): RegisteredTool[] {
  const words = new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu));
  const named = query.split(/[\s,]+/).filter((name) => name !== '');
  const searched = tools
    .filter(({ id, visibility }) => id !== SEARCH_TOOL && visibility !== 'hidden')
    .map((tool) => ({ tool, places: placesOf(tool), score: isNamed(tool, named) ? 1000 : 0 }));
  for (const word of words) {
    const hits = searched.map((entry) => ({ entry, worth: worthOf(word, entry.places) })).filter(({ worth }) => worth > 0);
    for (const { entry, worth } of hits) entry.score += worth / hits.length;
  }
  const found = searched.filter(({ score }) => score > 0);
  return found.toSorted((a, b) => b.score - a.score).map(({ tool }) => tool);
}

function isNamed({ id, alias, pluginId }: RegisteredTool, names: string[]): boolean {
  return names.some((name) => name === id || name === alias || name === `${pluginId}:*`);
}

type Places = Record<(typeof PLACES)[number], string>;

function placesOf({ id, brief = '', description, parameters }: RegisteredTool): Places {
  const names = Object.keys((parameters['properties'] ?? {}) as object).join(' ');
  const lower = (text: string) => text.slice(0, MOST_SEARCHED).toLowerCase();
  return { id: lower(id), brief: lower(brief), description: lower(description), parameters: lower(names) };
}

function worthOf(word: string, places: Places): number {
  return PLACES.reduce((sum, place) => sum + (places[place].includes(word) ? WEIGHTS[place] : 0), 0);
}
