import { constants } from 'node:fs';
import { lstat, mkdir, open, realpath, type FileHandle } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { shellWord } from '../common/shell-quoted.ts';
import { failure } from '../contracts/errors.ts';
import { systemProblem } from './system-problem.ts';

const WRITABLE_BY_OTHERS = 0o022;
const WRITABLE_BY_ALL = 0o002;
const OPEN_TO_OTHERS = 0o077;
const STICKY = 0o1000;
const ROOT = 0;

/** The name of the setting that gives the path, for messages. */
type Setting = 'LONGSHORE_HOME';

/**
 * Makes a directory for this user alone, or checks one that exists. No other user may be able to write to it or to replace a directory above it: files below
 * it are executed, trusted or secret.
 * @throws CONFIG_INVALID with the command that repairs it.
 */
export async function ensureOwnDirectory(path: string, setting: Setting = 'LONGSHORE_HOME'): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw invalid(setting, `the directory "${path}" cannot be made (${systemProblem(error)})`, 'Choose another place that you can write to');
  });
  const place = await realpath(resolve(path));
  const own = await lstat(place);
  if (!own.isDirectory()) throw invalid(setting, `"${place}" is not a directory`, `Remove it: rm ${shellWord(place)}`);
  if (own.uid !== myself()) throw invalid(setting, `"${place}" belongs to user ${own.uid}, not to ${myself()}`, chown(place));
  if ((own.mode & WRITABLE_BY_OTHERS) !== 0)
    throw invalid(
      setting,
      `other users can write to "${place}" (mode ${octal(own.mode)})`,
      `Look for what is not yours in it, then run: chmod go-w ${shellWord(place)}`,
    );
  for (let at = dirname(place); at !== dirname(at); at = dirname(at)) await checkAbove(at, setting);
}

/** A user who can rename a directory can put another one in its place. */
async function checkAbove(path: string, setting: Setting): Promise<void> {
  const { uid, mode } = await lstat(path);
  if (uid !== ROOT && uid !== myself())
    throw invalid(setting, `"${path}" above it belongs to user ${uid}`, `Choose another directory, or run: ${chownCommand(path)}`);
  if ((mode & WRITABLE_BY_ALL) !== 0 && (mode & STICKY) === 0)
    throw invalid(setting, `all users can write to "${path}" above it (mode ${octal(mode)})`, `Choose another directory, or run: chmod o-w ${shellWord(path)}`);
}

/**
 * Reads a secret of this user; undefined when the file does not exist. The checks use the open descriptor, so that the file cannot be replaced between a
 * check and the read.
 * @throws CONFIG_INVALID when other users can read it or could have written it, with the command that repairs it.
 */
export async function readOwnSecret(path: string, setting: Setting = 'LONGSHORE_HOME'): Promise<string | undefined> {
  const file = await openItself(path, setting);
  if (!file) return undefined;
  try {
    const facts = await file.stat();
    if (!facts.isFile()) throw invalid(setting, `"${path}" is not a file`, `Remove it: rm -r ${shellWord(path)}`);
    if (facts.uid !== myself()) throw invalid(setting, `the secret "${path}" belongs to user ${facts.uid}, not to ${myself()}`, chown(path));
    if ((facts.mode & OPEN_TO_OTHERS) !== 0)
      throw invalid(
        setting,
        `other users can read the secret "${path}" (mode ${octal(facts.mode)})`,
        `Run: chmod 600 ${shellWord(path)}, or if another user may have read it, rm ${shellWord(path)}: a new one is made`,
      );
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

async function openItself(path: string, setting: Setting): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code === 'ELOOP') throw invalid(setting, `the secret "${path}" is a symbolic link`, `Remove it: rm ${shellWord(path)}`);
    throw error;
  }
}

function invalid(setting: Setting, problem: string, fix: string): Error {
  return failure('CONFIG_INVALID', { name: setting, problem, fix });
}

function chown(path: string): string {
  return `If it should be yours, run: ${chownCommand(path)}`;
}

function chownCommand(path: string): string {
  return `chown ${myself()} ${shellWord(path)}`;
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8);
}

function myself(): number {
  return process.geteuid?.() ?? 0;
}
