import type { PinnedSkill, Skill } from '../../../src/contracts/skills/skill.ts';
import { createSkillShelf } from '../../../src/tool-calls/skills/skill-shelf.ts';

function skill(name: string): Skill {
  return { name, description: 'Says how.', digest: `sha256:${name}`, body: 'Do it.', files: [], contents: new Map() };
}
const pinned = ({ name, description, digest }: Skill): PinnedSkill => ({ name, description, digest });

/** Workers of one database, whose directories have these skills. */
function workers(...skills: Skill[][]) {
  const rows = new Map<string, PinnedSkill[]>();
  const store = {
    skills: {
      keep: async () => undefined,
      pinned: async (conversationId: string) => rows.get(conversationId),
      async pin(conversationId: string, wanted: PinnedSkill[]) {
        rows.set(conversationId, rows.get(conversationId) ?? wanted);
        return rows.get(conversationId) ?? [];
      },
      text: async () => undefined,
      file: async () => undefined,
      sweep: async () => 0,
    },
  };
  return { rows, shelves: skills.map((of) => createSkillShelf({ store, loaded: new Map([['pilot', of]]) })) };
}
const conversation = { conversationId: 'conv_1', agentId: 'pilot' };

test('a conversation keeps the skills that it began with, on every worker', async () => {
  const { shelves } = workers([skill('tides')], [skill('winds')]);
  for (const shelf of shelves) for (const ask of [shelf.lookUp, shelf.of]) expect(await ask(conversation)).toEqual([pinned(skill('tides'))]);
  expect(await shelves[0]?.of({ ...conversation, agentId: 'other' })).toEqual([]);
});

test('a conversation with the id of one that was removed has none of its skills', async () => {
  const { rows, shelves } = workers([skill('tides')], [skill('winds')]);
  const [old, other] = shelves;
  await old?.lookUp(conversation);
  rows.clear();
  await other?.lookUp(conversation);
  expect(await old?.lookUp(conversation)).toEqual([pinned(skill('winds'))]);
  expect(await old?.of(conversation)).toEqual([pinned(skill('winds'))]);
});
