import { failure } from '../../contracts/errors.ts';
import type { PinnedSkill, Skill, SkillText } from '../../contracts/skills/skill.ts';
import type { Database } from '../database/database.ts';
import { toJsonText } from '../database/json-text.ts';

/** Skills by the hash of their files, and which of them each conversation has. */
export interface SkillRows {
  /** Stores a skill, unless it is stored. */
  keep(skill: Skill): Promise<void>;
  /** The skills of a conversation; undefined until they are decided. */
  pinned(conversationId: string): Promise<PinnedSkill[] | undefined>;
  /** Decides them, unless they are decided, and returns what counts. They have to be stored. @throws CONVERSATION_NOT_FOUND */
  pin(conversationId: string, skills: PinnedSkill[]): Promise<PinnedSkill[]>;
  /** Undefined when it is not stored. */
  text(digest: string): Promise<SkillText | undefined>;
  /** The content of a file; undefined when there is none. */
  file(digest: string, path: string): Promise<Buffer | undefined>;
  /** Removes skills that no conversation has and that were not used for so many days. Returns how many. */
  sweep(unusedDays: number): Promise<number>;
}

const KEEP = `insert into skills (digest, name, description, body) values ($1, $2, $3, $4)
  on conflict (digest) do update set used_at = clock_timestamp()`;
const KEEP_FILE = 'insert into skill_files (digest, path, executable, content) values ($1, $2, $3, $4) on conflict do nothing';
const KNOWN_FILES = 'select path from skill_files where digest = $1';
const PIN = `insert into conversation_skills (conversation_id, skills)
  select conversation_id, $2::json from conversations where conversation_id = $1 on conflict do nothing`;
const PINNED = 'select skills from conversation_skills where conversation_id = $1';
const TEXT = `select digest, name, description, body, coalesce((select json_agg(json_build_object('path', path, 'bytes', octet_length(content),
    'executable', executable) order by path collate "C") from skill_files f where f.digest = skills.digest), '[]') as files
  from skills where digest = $1`;
const FILE = 'select content from skill_files where digest = $1 and path = $2';
/**
 * No index says which conversations have a skill, so all are read: once, whichever skills are old. One that a conversation has counts as used then, so that it does not make
 * every round read them again. Postgres would look through the list of `not in` for each skill.
 */
const SWEEP = `with old as materialized (
    select digest from skills where used_at < clock_timestamp() - make_interval(days => $1)
  ), had as materialized (
    select distinct pinned->>'digest' as digest from conversation_skills, json_array_elements(skills) pinned where exists (select from old)
  ), kept as (
    update skills set used_at = clock_timestamp() from old join had using (digest) where skills.digest = old.digest
  )
  delete from skills using old where skills.digest = old.digest and skills.used_at < clock_timestamp() - make_interval(days => $1)
    and not exists (select from had where had.digest = old.digest) returning 1`;

export function createSkillRows({ database }: { database: Database }): SkillRows {
  const pinned = async (conversationId: string) => (await database.query<{ skills: PinnedSkill[] }>('skills.pinned', PINNED, [conversationId]))[0]?.skills;
  return {
    pinned,
    async keep({ digest, name, description, body, contents, files }) {
      await database.query('skills.keep', KEEP, [digest, name, description, body]);
      const known = new Set((await database.query<{ path: string }>('skills.knownFiles', KNOWN_FILES, [digest])).map(({ path }) => path));
      for (const { path, executable } of files) {
        if (!known.has(path)) await database.query('skills.keepFile', KEEP_FILE, [digest, path, executable, contents.get(path) ?? Buffer.alloc(0)]);
      }
    },
    async pin(conversationId, skills) {
      await database.query('skills.pin', PIN, [conversationId, toJsonText(skills)]);
      const decided = await pinned(conversationId);
      if (!decided) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
      return decided;
    },
    async text(digest) {
      return (await database.query<SkillText>('skills.text', TEXT, [digest]))[0];
    },
    async file(digest, path) {
      return (await database.query<{ content: Buffer }>('skills.file', FILE, [digest, path]))[0]?.content;
    },
    sweep: async (unusedDays) => (await database.query('skills.sweep', SWEEP, [unusedDays])).length,
  };
}
