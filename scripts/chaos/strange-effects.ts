import type { Problem } from './verdict.ts';
import type { World } from './world.ts';

/** Effects outside of Longshore that no call had. */
export async function strangeEffects({ counter, records }: World): Promise<Problem[]> {
  const known = new Set((await records.query<{ id: string }>('select call_id as id from tool_calls')).map(({ id }) => id));
  return [...counter.requests.keys()]
    .filter((id) => !known.has(id))
    .map((id) => ({ rule: 'doubled', what: `the counter got a request for ${id}, and no such call was made` }));
}
