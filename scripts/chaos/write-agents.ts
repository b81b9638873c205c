import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Kinds } from './kinds/kinds.ts';

/** Files of agents with a model that follows a script. They may call everything, unless they say otherwise. */
export async function writeAgents(directory: string, kinds: Kinds): Promise<void> {
  await mkdir(join(directory, 'scripts'), { recursive: true });
  for (const [id, { agent, turns }] of Object.entries(kinds)) {
    const script = join('scripts', `${id}.yaml`);
    await writeFile(join(directory, script), stringify({ steps: turns.flatMap(({ steps, rewinds }) => (rewinds ? [] : steps)) }));
    const defaults = { id, model: `scripted/${script}`, instructions: 'Follow the script.', approval: [{ tool: '*', decide: 'allow' }] };
    await writeFile(join(directory, `${id}.yaml`), stringify({ ...defaults, ...agent }));
  }
}
