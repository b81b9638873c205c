import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { SandboxHandle } from '../../src/sandbox/api/sandbox.ts';

/** Puts a directory into a sandbox and makes it a git repository there, as a user would who uploads a project. */
export async function uploadProject(handle: SandboxHandle, directory: string, target: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes('__pycache__')).map((entry) => join(entry.parentPath, entry.name));
  for (const file of files) await handle.writeFile(`${target}/${relative(directory, file)}`, await readFile(file));
  const identity = 'git config --global user.name Agent && git config --global user.email agent@example.com';
  const commit = 'printf "__pycache__/\\n.pytest_cache/\\n" > .gitignore && git init -q -b main && git add . && git commit -qm "Invoices of a harbour"';
  const made = await handle.run(`${identity} && ${commit}`, { cwd: target });
  if (made.exitCode !== 0) throw new Error(`git in the sandbox: ${made.stderr.text || made.stdout.text}`);
  return files.length;
}
