import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { mustRun } from '../../src/platform/run-command.ts';
import { ensureTemporalCli } from '../../src/setup/temporal-cli.ts';

let home: string;
const { PATH } = process.env;
const { fetch } = globalThis;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'longshore-starts-'));
  await mkdir(join(home, 'bin'));
  await mkdir(join(home, 'path'));
  process.env['PATH'] = `${join(home, 'path')}${delimiter}${PATH}`;
});
afterEach(async () => {
  process.env['PATH'] = PATH;
  globalThis.fetch = fetch;
  await rm(home, { recursive: true });
});

async function program(path: string, lines: string): Promise<void> {
  await writeFile(join(home, path), `#!/bin/sh\n${lines}\n`);
  await chmod(join(home, path), 0o755);
}

test('a Temporal CLI in the cache that does not run is replaced', async () => {
  await program('path/temporal', 'exit 1');
  await program('bin/temporal', 'exit 126');
  globalThis.fetch = () => Promise.reject(new Error('no network'));
  // Builds what it is asked for into GOBIN.
  await program('path/go', `[ "$1" = env ] && { echo go1.26.0; exit; }\nprintf '#!/bin/sh\\n' > "$GOBIN/temporal"; chmod +x "$GOBIN/temporal"`);
  expect(await ensureTemporalCli({ home, log: () => undefined })).toBe(join(home, 'bin/temporal'));
  expect(await readFile(join(home, 'bin/temporal'), 'utf8')).toBe('#!/bin/sh\n');
});

// Only root starts an engine.
(process.getuid?.() === 0 ? test : test.skip)('of two who find no engine, one starts it, and the other finds it', async () => {
  await program('path/docker', `[ -e "${home}/answers" ] && echo 20.10 || { echo no engine >&2; exit 1; }`);
  await program('path/systemctl', `echo started >> "${home}/starts"; touch "${home}/answers"`);
  // The second engine ends, since the first one has the socket.
  await program('path/dockerd', `echo started >> "${home}/starts"\nmkdir "${home}/socket" || exit 1\nsleep 0.2; touch "${home}/answers"`);
  const script = new URL('engine-script.ts', import.meta.url).pathname;
  const found = await mustRun('Starting an engine', process.execPath, ['--import', 'tsx', script, join(home, 'dockerd.log')], {
    env: { PATH: process.env['PATH'] ?? '', DOCKER_HOST: '', NODE_OPTIONS: '' },
    fix: '',
  });
  expect(JSON.parse(found)).toEqual(['running', 'started']);
  expect(await readFile(join(home, 'starts'), 'utf8')).toBe('started\n');
});
