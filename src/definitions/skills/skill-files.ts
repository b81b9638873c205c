import { lstat, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_SKILL_BYTES, MAX_SKILL_FILES } from '../../contracts/skills/skill.ts';
import { unstorable } from '../../contracts/visible-text.ts';
import { isBelow } from '../../plugins/files/territory.ts';
import { readRealFile } from '../../plugins/files/read-real-file.ts';
import { invalid } from './skill-header.ts';

const MOST_DEEP = 8;
const MOST_PATH_BYTES = 240;
/** What version control and file managers leave behind. */
const PASSED_OVER = new Set(['.git', '.DS_Store']);

export interface ReadSkillFile {
  content: Buffer;
  executable: boolean;
}

/**
 * Reads all files of a directory, by their paths within it, sorted. Nothing but regular files and directories may be in it, so that nothing outside is read: no
 * links, pipes, sockets or devices.
 * @throws SKILL_INVALID
 */
export async function readSkillFiles(directory: string): Promise<Map<string, ReadSkillFile>> {
  const facts = await lstat(directory).catch((cause: unknown) => {
    throw invalid(directory, '(the directory)', 'it cannot be read', 'Name a directory that exists', cause);
  });
  if (!facts.isDirectory()) throw invalid(directory, '(the directory)', `it is ${facts.isSymbolicLink() ? 'a link' : 'no directory'}`, 'Name the directory');
  const root = await realpath(directory);
  const files = new Map<string, ReadSkillFile>();
  let room = MAX_SKILL_BYTES;
  for (const path of (await pathsIn(root, '', 0, { left: MAX_SKILL_FILES })).toSorted(byBytes)) {
    const real = join(root, path);
    const read = await readRealFile(real, (found) => isBelow(found, root), room);
    if (!('content' in read)) {
      if (read.problem === 'refused') throw invalid(real, '(the file)', 'it is no regular file within the skill that can be read', 'Remove it');
      throw invalid(directory, '(the directory)', `its files have more than ${MAX_SKILL_BYTES} bytes`, `Leave out what is not needed, ${path} among them`);
    }
    room -= read.content.length;
    files.set(path, { content: read.content, executable: ((await lstat(real)).mode & 0o100) !== 0 });
  }
  return files;
}

async function pathsIn(root: string, below: string, depth: number, room: { left: number }): Promise<string[]> {
  if (depth > MOST_DEEP) throw invalid(join(root, below), '(the directory)', `it is more than ${MOST_DEEP} levels deep`, 'Make it flatter');
  const paths: string[] = [];
  for (const entry of await readdir(join(root, below), { withFileTypes: true })) {
    if (PASSED_OVER.has(entry.name)) continue;
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    checkPath(root, path);
    if (entry.isDirectory()) {
      paths.push(...(await pathsIn(root, path, depth + 1, room)));
      continue;
    }
    if (!entry.isFile())
      throw invalid(join(root, path), '(the file)', `it is ${entry.isSymbolicLink() ? 'a link' : 'no regular file'}`, 'Put a copy in its place');
    room.left -= 1;
    if (room.left < 0) throw invalid(root, '(the directory)', `it has more than ${MAX_SKILL_FILES} files`, 'Leave out what is not needed');
    paths.push(path);
  }
  return paths;
}

function checkPath(root: string, path: string): void {
  if (unstorable(path) === undefined && !/[\p{C}\\]/u.test(path) && Buffer.byteLength(path) <= MOST_PATH_BYTES) return;
  throw invalid(
    root,
    '(the directory)',
    `the name ${JSON.stringify(path)} is not usable`,
    `Use visible characters without \\, ${MOST_PATH_BYTES} bytes at most`,
  );
}

/** The same order on every machine. */
function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
