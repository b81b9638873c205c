import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { MAX_SKILL_TEXT_BYTES, SKILL_FILE, type Skill } from '../../contracts/skills/skill.ts';
import { unstorable } from '../../contracts/visible-text.ts';
import { readSkillFiles, type ReadSkillFile } from './skill-files.ts';
import { invalid, readSkillText } from './skill-header.ts';

/**
 * Reads a skill: a directory with a `SKILL.md`.
 * @throws SKILL_INVALID naming file, field, problem and fix
 */
export async function readSkill(directory: string): Promise<Skill> {
  const files = await readSkillFiles(directory);
  const file = join(directory, SKILL_FILE);
  const { header, body } = readSkillText(textOf(files.get(SKILL_FILE), file), file);
  const { name, description, license, compatibility, metadata, 'allowed-tools': allowedTools } = header;
  const expected = basename(directory);
  if (name !== expected) throw invalid(file, 'name', `it is "${name}", and the directory "${expected}"`, 'Give both the same name');
  const digest = digestOf(files);
  files.delete(SKILL_FILE);
  return {
    name,
    description: description.replaceAll(/\s+/g, ' ').trim(),
    digest,
    body,
    files: [...files].map(([path, { content, executable }]) => ({ path, bytes: content.length, executable })),
    contents: new Map([...files].map(([path, { content }]) => [path, content])),
    ...withoutUndefined({ license, compatibility, metadata, allowedTools }),
  };
}

function textOf(found: ReadSkillFile | undefined, file: string): string {
  if (!found) throw invalid(file, '(the file)', 'there is none', `Write one, with name and description, or leave the directory out`);
  const { content } = found;
  if (content.length > MAX_SKILL_TEXT_BYTES) {
    throw invalid(file, '(the file)', `it has ${content.length} bytes, and may have ${MAX_SKILL_TEXT_BYTES}`, 'Put parts of it into files beside it');
  }
  const text = decode(content);
  const problem = text === undefined ? 'it is no text in UTF-8' : unstorable(text);
  if (text === undefined || problem !== undefined) throw invalid(file, '(the file)', problem ?? '', 'Store it as text in UTF-8');
  return text;
}

function decode(content: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    return undefined;
  }
}

/** Of all that a conversation may get to see: paths, contents, and which files are programs. Dates and owners differ from machine to machine. */
function digestOf(files: ReadonlyMap<string, ReadSkillFile>): string {
  const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');
  return `sha256:${sha256(JSON.stringify([...files].map(([path, { content, executable }]) => [path, executable, sha256(content)])))}`;
}
