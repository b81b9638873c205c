import type { Problem } from './verdict.ts';
import type { World } from './world.ts';

/** Effects outside of Longshore that no call had. */
export async function strangeEffects({ counter, records }: World): Promise<Problem[]> {
  const known = new Set((await records.query<{ id: string }>('select call_id as id from tool_calls')).map(({ id }) => id));
  return [...counter.told.keys()].filter((id) => !known.has(id)).map((id) => ({ rule: 'doubled', what: `the counter was told of ${id}, which is no call` }));
}
