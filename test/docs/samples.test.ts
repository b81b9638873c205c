import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../src/platform/run-command.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Strict, as users may have it; settings of this repository about the style of code are not theirs. */
const OPTIONS = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noUnusedLocals: false, noUnusedParameters: false };
/** What samples use that the text around them has made; each may make its own. */
const SURROUNDINGS = `
declare const connect: typeof import('longshore').connect;
declare const longshore: import('longshore').Longshore;
declare const chat: import('longshore').Chat;
declare const sandboxes: import('longshore/sandbox').Sandboxes;
declare const handle: import('longshore/sandbox').SandboxHandle;
declare const openSandbox: typeof import('longshore/sandbox').openSandbox;
declare const definePlugin: typeof import('longshore/plugins').definePlugin;
declare const defineTool: typeof import('longshore/plugins').defineTool;
declare const z: typeof import('zod').z;
declare const sandboxId: string;
declare const tenantId: string;
declare const logger: { warn(text: string): void };
declare const convert: ReturnType<typeof import('longshore/plugins').defineTool>;
`;
/** They need packages that are no dependency, or are pieces of something larger. */
const LEFT_OUT = /useChat\(|^permissions: |^declare module /;

/** The samples in TypeScript of a page, in its order. */
async function samplesOf(page: string): Promise<{ name: string; code: string }[]> {
  const blocks = [...(await readFile(join(ROOT, page), 'utf8')).matchAll(/^```ts\n(.*?)^```/gms)];
  return blocks.map(([, code = ''], at) => ({ name: `${basename(page, '.md')}-${at + 1}.ts`, code }));
}

/** A module of its own, in which a body that is left out throws. */
const asModule = (code: string) => `${code.replaceAll('{ … }', `{ throw new Error('…'); }`)}\nexport {};\n`;

test('every sample in TypeScript compiles as strictly as a user may have it', async () => {
  const guides = (await readdir(join(ROOT, 'docs/guides'))).map((name) => join('docs/guides', name));
  const samples = (await Promise.all(['README.md', ...guides].map(samplesOf))).flat().filter(({ code }) => !LEFT_OUT.test(code));
  expect(samples.length).toBeGreaterThan(25);
  const { exports } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { exports: Record<string, { types: string }> };
  const source = (types: string) => types.replace('./dist/', `${ROOT}src/`).replace('.d.ts', '.ts');
  const paths = Object.fromEntries(Object.entries(exports).map(([name, { types }]) => [name.replace('.', 'longshore'), [source(types)]]));
  // Within the repository, where its packages are found.
  const directory = await mkdtemp(join(ROOT, '.build-samples-'));
  try {
    await mkdir(join(directory, 'samples'));
    await Promise.all(samples.map(({ name, code }) => writeFile(join(directory, 'samples', name), asModule(code))));
    await writeFile(join(directory, 'samples', 'surroundings.d.ts'), SURROUNDINGS);
    const config = { extends: '../tsconfig.json', compilerOptions: { ...OPTIONS, paths, types: ['node'] }, include: ['samples'], exclude: [] };
    await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(config));
    const { code, stdout } = await runCommand(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', directory], { cwd: directory });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  } finally {
    await rm(directory, { recursive: true });
  }
}, 180_000);
