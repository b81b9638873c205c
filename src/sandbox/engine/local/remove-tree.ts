import { runCommand } from '../../../platform/run-command.ts';

/**
 * Removes a file or a directory of a guest, which may not be there. By programs: a guest can nest directories more deeply than a path can be long, where `fs.rm`
 * fails, and take away its own right to change a directory, as Go does for its modules.
 * @throws an Error with the reason, when something is left
 */
export async function removeTree(path: string): Promise<void> {
  const remove = () => runCommand('rm', ['-rf', '--', path]);
  if ((await remove()).code === 0) return;
  await runCommand('chmod', ['-R', 'u+rwx', '--', path]);
  const { code, stderr } = await remove();
  if (code !== 0) throw new Error(`${path} cannot be removed: ${stderr.trim().slice(0, 500)}`);
}
