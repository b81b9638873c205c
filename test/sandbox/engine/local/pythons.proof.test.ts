import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { LIST_TOOLS } from '../../../../src/tool-calls/offer/describe-tools.ts';
import { loadConfig } from '../../../../src/platform/config.ts';
import { createLocalSandboxes } from '../../../../src/sandbox/lifecycle/local-sandboxes.ts';
import { openStore } from '../../../../src/store/open-store.ts';
import { createTestDatabase } from '../../../support/databases.ts';
import { output } from '../../lifecycle/support.ts';

const log = pino({ level: 'silent' });
/** The oldest that is supported, and those in which modules of Python's own have other names than in the sandbox image. */
const VERSIONS = ['3.9', '3.12', '3.13', '3.14'];
const OTHER_USER = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'];

const found: [version: string, program: string][] = [];
for (const version of VERSIONS) {
  const program = await programOf(version);
  if (program !== undefined) found.push([version, program]);
}
// A machine with none of them still has one.
if (found.length === 0) found.push(['3', (await programOf('3')) ?? 'python3']);

/** On PATH, or one of pyenv's that is not chosen; undefined where this machine has none. */
async function programOf(version: string): Promise<string | undefined> {
  const beside = join(process.env['PYENV_ROOT'] ?? join(homedir(), '.pyenv'), 'versions');
  const names = (await readdir(beside).catch(() => [])).filter((name) => name.startsWith(`${version}.`));
  for (const command of [`python${version}`, ...names.map((name) => join(beside, name, 'bin/python3'))]) {
    // Sandboxes of root run as another user, who has to reach the program.
    const [program, ...args] = [...(process.getuid?.() === 0 ? OTHER_USER : []), command, '-c', 'import sys; print(sys.executable)'];
    const answer = await promisify(execFile)(program, args).catch(() => undefined);
    if (answer) return answer.stdout.trim();
  }
  return undefined;
}

test.each(found)('the supervisor works with Python %s: commands, code, terminals, files and calls of tools', async (version, program) => {
  const home = await mkdtemp(join(tmpdir(), 'longshore-python-'));
  const { PATH = '' } = process.env;
  await using database = await createTestDatabase();
  await using store = await openStore({ url: database.url, log });
  try {
    await symlink(program, join(home, 'python3'));
    process.env['PATH'] = `${home}${delimiter}${PATH}`;
    const config = { ...loadConfig(), LONGSHORE_HOME: home, LONGSHORE_INSTALLATION: 'longshore', LONGSHORE_HOST_ID: 'test-host' };
    await using sandboxes = createLocalSandboxes({ config, store, log, reapGraceMs: -60_000 });
    const owner = { sandboxId: 'sbx_python', tenantId: 'tenant' };
    const { handle } = await sandboxes.open(owner, {});
    try {
      expect(await output(handle, 'python3 --version')).toContain(`Python ${version}`);
      await handle.writeFile('kept', 'yes');
      expect(await handle.glob('k*')).toEqual(['kept']);
      expect((await handle.runCode('x = 40', { language: 'python', contextId: 'one' })).status).toBe('finished');
      const ran = await handle.runCode("from longshore import tools; print(x + 2, tools['notes:add']())", {
        language: 'python',
        contextId: 'one',
        onMethodCall: ({ execId, number, tool }) => {
          const ok = tool === LIST_TOOLS ? [{ id: 'notes:add', description: 'Adds a note.', parameters: { type: 'object' } }] : `answer to ${tool}`;
          void handle.answerMethod(execId, number, { ok });
        },
      });
      expect({ stdout: ran.stdout, error: ran.error }).toEqual({ stdout: '42 answer to notes:add\n', error: undefined });
      let shown = '';
      const pty = await handle.openPty({ command: 'echo in a terminal', onData: (chunk) => void (shown += chunk.toString()) });
      expect(await pty.ended).toMatchObject({ exitCode: 0 });
      expect(shown).toContain('in a terminal');
    } finally {
      await sandboxes.destroy(owner.sandboxId);
    }
  } finally {
    process.env['PATH'] = PATH;
    await rm(home, { recursive: true });
  }
});
