import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { matchesPattern } from '../../common/match-pattern.ts';
import type { Agent } from '../../contracts/agent.ts';
import { MAX_SKILLS, MAX_SKILLS_BYTES, type Skill } from '../../contracts/skills/skill.ts';
import { readSkill } from './read-skill.ts';
import { invalid } from './skill-header.ts';

/**
 * Reads the skills that agents name, by the ids of the agents.
 * @throws SKILL_INVALID
 */
export async function loadSkills(agents: Iterable<Agent>): Promise<Map<string, Skill[]>> {
  const known = new Map<string, Promise<Skill>>();
  const loaded = new Map<string, Skill[]>();
  for (const { id, skills } of agents) if (skills) loaded.set(id, await skillsAt(skills, known));
  return loaded;
}

/** @param places directories, or patterns with `*` in their last part */
async function skillsAt(places: string[], known: Map<string, Promise<Skill>>): Promise<Skill[]> {
  const skills = new Map<string, Skill>();
  let bytes = 0;
  for (const place of places) {
    for (const directory of await directoriesAt(place)) {
      const reading = known.get(directory) ?? readSkill(directory);
      known.set(directory, reading);
      const skill = await reading;
      if (skills.has(skill.name)) throw invalid(directory, 'name', `there is another skill "${skill.name}"`, 'Give one of them another name');
      skills.set(skill.name, skill);
      bytes += skill.files.reduce((sum, file) => sum + file.bytes, Buffer.byteLength(skill.body));
      if (skills.size > MAX_SKILLS) throw invalid(place, '(the list)', `it has more than ${MAX_SKILLS} skills`, 'Name fewer: each is a line of every prompt');
      if (bytes > MAX_SKILLS_BYTES) throw invalid(place, '(the list)', `its skills have more than ${MAX_SKILLS_BYTES} bytes`, 'Name fewer, or smaller ones');
    }
  }
  return [...skills.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

async function directoriesAt(place: string): Promise<string[]> {
  const [parent, pattern] = [dirname(place), basename(place)];
  if (parent.includes('*')) throw invalid(place, '(the pattern)', 'a * may stand in its last part only', 'Write ./skills/*');
  if (!pattern.includes('*')) return [place];
  const entries = await readdir(parent, { withFileTypes: true }).catch((cause: unknown) => {
    throw invalid(place, '(the pattern)', `${parent} cannot be read`, 'Make that directory, or name another', cause);
  });
  // A link is read too, and then refused by name: passed over, it would only be missing.
  const names = entries.filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !entry.name.startsWith('.')).map(({ name }) => name);
  const found = names.filter((name) => matchesPattern(pattern, name)).toSorted();
  if (found.length === 0) throw invalid(place, '(the pattern)', 'no directory fits', 'Make one with a SKILL.md, or leave the pattern out');
  return found.map((name) => join(parent, name));
}
