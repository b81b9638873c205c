import { Client } from 'pg';
import type { Skill } from '../../../src/contracts/skills/skill.ts';
import type { Store } from '../../../src/store/store.ts';
import { newConversation, newId, useTestStore } from '../support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

function skill(digest: string, text = 'Do it.'): Skill {
  return {
    name: 'tides',
    description: 'Says when.',
    digest,
    body: text,
    files: [
      { path: 'b', bytes: 2, executable: true },
      { path: 'a/c', bytes: 0, executable: false },
    ],
    contents: new Map([
      ['b', Buffer.from([0, 255])],
      ['a/c', Buffer.alloc(0)],
    ]),
  };
}
const pin = ({ name, description, digest }: Skill) => ({ name, description, digest });

test('a skill is stored once, with its files', async () => {
  const one = skill('sha256:1');
  await Promise.all([store.skills.keep(one), store.skills.keep(one)]);
  const { contents: _, ...text } = one;
  expect(await store.skills.text('sha256:1')).toEqual({ ...text, files: text.files.toReversed() });
  expect(await store.skills.file('sha256:1', 'b')).toEqual(Buffer.from([0, 255]));
  expect(await store.skills.file('sha256:1', 'missing')).toBeUndefined();
  expect(await store.skills.text('sha256:missing')).toBeUndefined();
});

test('workers with different skills agree about those of a conversation', async () => {
  const conversationId = await newConversation(store);
  expect(await store.skills.pinned(conversationId)).toBeUndefined();
  const candidates = Array.from({ length: 8 }, (_, index) => [pin(skill(`sha256:${index}`))]);
  const decided = await Promise.all(candidates.map((skills) => store.skills.pin(conversationId, skills)));
  const pinned = await store.skills.pinned(conversationId);
  expect(candidates).toContainEqual(pinned);
  for (const each of decided) expect(each).toEqual(pinned);
  await expect(store.skills.pin(newId('conv'), [])).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
});

test('skills that no conversation has, and that were not used for long, are removed with their files', async () => {
  const conversationId = await newConversation(store);
  for (const digest of ['sha256:used', 'sha256:unused', 'sha256:fresh']) await store.skills.keep(skill(digest));
  await store.skills.pin(conversationId, [pin(skill('sha256:used'))]);
  const client = new Client(url);
  await client.connect();
  await client.query(`update skills set used_at = used_at - interval '31 days' where digest in ('sha256:used', 'sha256:unused')`);
  expect(await store.skills.sweep(30)).toBe(1);
  expect(await store.skills.text('sha256:unused')).toBeUndefined();
  expect(await store.skills.text('sha256:used')).toBeDefined();
  expect(await store.skills.text('sha256:fresh')).toBeDefined();
  const { rows } = await client.query(`select 1 from skill_files where digest = 'sha256:unused'`);
  // The next rounds do not look through all conversations for it again.
  const { rows: old } = await client.query(`select 1 from skills where used_at < now() - interval '30 days'`);
  await client.end();
  expect([rows, old]).toEqual([[], []]);
});
