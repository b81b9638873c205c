import type { Database } from '../database/database.ts';

/** What a conversation did after an event that may have reached beyond its sandbox. */
export interface Effects {
  /** Tools that ran, and how often. */
  tools: { tool: string; calls: number }[];
  /** Hosts that the sandbox was connected to, and how often. */
  hosts: { host: string; connections: number }[];
}

const TOOLS = `select data->>'tool' as tool, count(distinct data->>'callId')::integer as calls from events
  where conversation_id = $1 and seq > $2 and seq <= $3 and type = 'tool.started' group by 1 order by 1`;

const HOSTS = `select decision->>'host' as host, sum((decision->>'connections')::bigint)::float8 as connections
  from events, json_array_elements(data->'decisions') decision
  where conversation_id = $1 and seq > $2 and seq <= $3 and type = 'sandbox.egress' and decision->>'decision' = 'allowed' group by 1 order by 1`;

/** Later than every event of a conversation. */
const LAST_EVENT = 2_147_483_647;

/** After event `afterSeq`, up to event `toSeq`. */
export async function effectsBetween(database: Database, conversationId: string, afterSeq: number, toSeq = LAST_EVENT): Promise<Effects> {
  const [tools, hosts] = await Promise.all([
    database.query<Effects['tools'][number]>('checkpoints.tools', TOOLS, [conversationId, afterSeq, toSeq]),
    database.query<Effects['hosts'][number]>('checkpoints.hosts', HOSTS, [conversationId, afterSeq, toSeq]),
  ]);
  return { tools, hosts };
}

export function joinEffects(first: Effects, second: Effects): Effects {
  const calls = new Map<string, number>();
  for (const { tool, calls: more } of [...first.tools, ...second.tools]) calls.set(tool, (calls.get(tool) ?? 0) + more);
  const connections = new Map<string, number>();
  for (const { host, connections: more } of [...first.hosts, ...second.hosts]) connections.set(host, (connections.get(host) ?? 0) + more);
  return {
    tools: [...calls].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([tool, count]) => ({ tool, calls: count })),
    hosts: [...connections].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([host, count]) => ({ host, connections: count })),
  };
}
