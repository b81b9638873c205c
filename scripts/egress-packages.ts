/**
 * Installs packages from inside a sandbox, through its egress, from the registries that this machine is set up for: pip from its index, npm from its
 * registry, and git from a repository when one is named. Proves that the common clients find the way out, on real servers.
 *   npx tsx scripts/egress-packages.ts [https://host/project.git]
 */
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { readProgram } from '../src/platform/read-program.ts';
import { runCommand } from '../src/platform/run-command.ts';
import { createLogger } from '../src/platform/log.ts';
import { createDockerSandboxes } from '../src/sandbox/lifecycle/docker-sandboxes.ts';
import type { SandboxHandle } from '../src/sandbox/api/sandbox.ts';
import { openStore } from '../src/store/open-store.ts';
import { startTemporaryStack } from './temporary-stack.ts';

const BUNDLE = '/etc/ssl/certs/ca-certificates.crt';
const TRUSTED = '/home/user/trusted.pem';
const OWNER = { sandboxId: 'sbx_packages', tenantId: 'packages' };
/** The image has no pip. */
const FETCH_PIP = readProgram(import.meta.url, 'programs/fetch_pip.py');

const repository = process.argv[2];
const registry = (await mustSay('npm', ['config', 'get', 'registry'])).trim();
const index = await pipIndex();
const urls = [registry, index.simple, index.files, ...(repository === undefined ? [] : [repository])];
const hosts = [...new Map(urls.map((url) => [new URL(url).hostname, Number(new URL(url).port || 443)]))].map(([host, port]) => ({ host, ports: [port] }));
// A registry inside a company is as good for this as a public one.
const addresses = (await Promise.all(hosts.map(({ host }) => lookup(host, { all: true })))).flat().map(({ address }) => address);

await using stack = await startTemporaryStack('packages', { LONGSHORE_EGRESS_ADDRESSES: addresses.join(',') }, console.log);
const log = createLogger({ LONGSHORE_LOG_LEVEL: 'info' });
await using store = await openStore({ url: stack.config.DATABASE_URL, log });
await using sandboxes = createDockerSandboxes({ config: stack.config, store, log });
const { handle } = await sandboxes.open(OWNER, { egress: hosts });
try {
  await handle.writeFile(TRUSTED, await readFile(BUNDLE));
  await handle.writeFile('fetch_pip.py', FETCH_PIP);
  const pip = `PYTHONPATH=pip.whl python3 -m pip install --quiet --target py --index-url '${index.simple}' six`;
  await check(handle, 'pip', `python3 fetch_pip.py '${index.simple}' && ${pip} && PYTHONPATH=py python3 -c 'import six; print(six.__version__)'`);
  await check(
    handle,
    'npm',
    `npm install --silent --no-audit --no-fund --registry '${registry}' is-number && node -p 'require("is-number/package.json").version'`,
  );
  if (repository !== undefined) await check(handle, 'git', `git ls-remote '${repository}' HEAD`);
  await check(handle, 'Nothing else', `! curl --silent --fail --max-time 20 http://host-that-is-not-listed.test/ && echo refused`);
} finally {
  await sandboxes.destroy(OWNER.sandboxId);
}

async function check(sandbox: SandboxHandle, what: string, command: string): Promise<void> {
  const names = ['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'PIP_CERT', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'NODE_EXTRA_CA_CERTS', 'npm_config_cafile'];
  const env = Object.fromEntries(names.map((name) => [name, TRUSTED]));
  const { exitCode, stdout, stderr } = await sandbox.run(command, { env, timeoutMs: 180_000 });
  console.log(`${exitCode === 0 ? 'works' : 'FAILS'}: ${what}: ${(stdout.text.trim() || stderr.text.trim()).slice(-500)}`);
  if (exitCode !== 0) process.exitCode = 1;
}

async function mustSay(program: string, args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(program, args);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** The index that pip is set up for, and where its files are: beside it, or where pip's own default has them. */
async function pipIndex(): Promise<{ simple: string; files: string }> {
  const { code, stdout } = await runCommand('pip', ['config', 'get', 'global.index-url']);
  const found = stdout.trim();
  if (code === 0 && found !== '') return { simple: found, files: found };
  const ask = 'from pip._internal.models.index import PyPI; print(PyPI.simple_url, PyPI.file_storage_domain)';
  const [simple = '', files = ''] = (await mustSay('python3', ['-c', ask])).trim().split(' ');
  return { simple, files: `https://${files}` };
}
