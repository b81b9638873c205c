/** The tool with which a model reads a skill. */
export const SKILL_TOOL = 'skills:read';

/** The file of a skill that says what it is. */
export const SKILL_FILE = 'SKILL.md';

export const MAX_SKILLS = 32;
export const MAX_SKILL_BYTES = 5 * 2 ** 20;
/** All skills of an agent together. */
export const MAX_SKILLS_BYTES = 20 * 2 ** 20;
export const MAX_SKILL_FILES = 500;
export const MAX_SKILL_TEXT_BYTES = 64 * 2 ** 10;

/** What a conversation knows of a skill from its first step on, whatever becomes of the directory. (A type alias: unlike an interface, it is assignable to `Json`.) */
export type PinnedSkill = {
  name: string;
  description: string;
  /** `sha256:…` of all its files. */
  digest: string;
};

/** A file of a skill beside its `SKILL.md`. */
export interface SkillFile {
  /** Within the directory of the skill, with `/`. */
  path: string;
  bytes: number;
  executable: boolean;
}

/** What the model is given of a skill. */
export interface SkillText extends PinnedSkill {
  /** What stands in `SKILL.md` after its header. */
  body: string;
  files: SkillFile[];
}

/** A skill as it was read from its directory. */
export interface Skill extends SkillText {
  license?: string;
  compatibility?: string;
  metadata?: Record<string, string>;
  allowedTools?: string;
  /** By the paths of `files`. */
  contents: ReadonlyMap<string, Buffer>;
}
