import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { loadAgents } from '../../../src/definitions/agents/load-agents.ts';
import { limitsOf } from '../../../src/definitions/agents/limits-of.ts';
import { isFailure } from '../../../src/contracts/errors.ts';
import { defineTemplate } from '../../../src/definitions/templates/define-template.ts';
import { imageDefinition } from '../../../src/images/image-definition.ts';
import { loadTemplates } from '../../../src/definitions/templates/load-templates.ts';
import { templateJsonSchema } from '../../../src/definitions/templates/template-schema.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-templates-'));
  await mkdir(join(directory, 'agents'));
  await mkdir(join(directory, 'templates/web'), { recursive: true });
});
afterEach(async () => rm(directory, { recursive: true }));

const write = (name: string, text: string) => writeFile(join(directory, name), text);
const load = () => loadTemplates(join(directory, 'templates'));
const agentOf = async (text: string) => {
  await write('agents/fixer.yaml', `model: a/b\n${text}`);
  return (await loadAgents(join(directory, 'agents'))).get('fixer')!;
};
const messageOf = (work: Promise<unknown>) =>
  work.then(
    () => 'accepted',
    (error: unknown) => (isFailure(error) ? `${error.code} ${error.message}` : String(error)),
  );

test('what an agent does not say is as in its template, and what neither says is the default', async () => {
  await write(
    'templates/small.yaml',
    'memoryMb: 300\npids: 50\nruntime: runc\nidle: { freeze: 5s, stop: 1h }\nlabels: { team: blue }\nmetadata: { tier: 1 }\n',
  );
  const agent = await agentOf('sandbox: { template: small, pids: 80, idle: { freeze: 1m } }\n');
  expect(agent.sandbox).toEqual({
    template: 'small',
    memoryMb: 300,
    pids: 80,
    runtime: 'runc',
    freezeAfterMs: 60_000,
    stopAfterMs: 3_600_000,
    labels: { team: 'blue' },
    metadata: { tier: 1 },
    onClose: 'destroy',
  });
  expect(limitsOf(agent)).toMatchObject({ freezeAfterMs: 60_000, hibernateAfterMs: 0, stopAfterMs: 3_600_000 });
});

test('the labels of hosts that a template asks for are those of its sandboxes; an agent that names labels of its own asks for only those', async () => {
  await write('templates/near.yaml', 'hostLabels: [gpu, zone=a]\n');
  expect((await agentOf('sandbox: { template: near }\n')).sandbox.hostLabels).toEqual(['gpu', 'zone=a']);
  expect((await agentOf('sandbox: { template: near, hostLabels: [zone=b] }\n')).sandbox.hostLabels).toEqual(['zone=b']);
  expect((await agentOf('sandbox: { template: near, hostLabels: [] }\n')).sandbox.hostLabels).toEqual([]);
});

test('the way out that a template allows is that of its sandboxes, with credentials as references; an agent that names hosts of its own has only those', async () => {
  process.env['TEMPLATES_TEST_KEY'] = 'sesame';
  const headers = { authorization: 'Bearer ${env.TEMPLATES_TEST_KEY}' };
  await write('templates/reaching.yaml', `egress: [pypi.test, { host: api.test, headers: ${JSON.stringify(headers)} }]\n`);
  expect((await agentOf('sandbox: { template: reaching }\n')).sandbox.egress).toEqual(['pypi.test', { host: 'api.test', headers }]);
  expect((await agentOf('sandbox: { template: reaching, egress: [own.test] }\n')).sandbox.egress).toEqual(['own.test']);
  delete process.env['TEMPLATES_TEST_KEY'];
});

test('an unknown template is refused at load, and the known ones are named', async () => {
  await write('templates/python.yaml', 'packages: [python3-numpy]\n');
  expect(await messageOf(agentOf('sandbox: { template: pyton }\n'))).toBe(
    `AGENT_INVALID fixer.yaml: sandbox.template: there is no template "pyton". Did you mean "python"? Known in ${join(directory, 'templates')}: python`,
  );
  await rm(join(directory, 'templates'), { recursive: true });
  expect(await messageOf(agentOf('sandbox: { template: python }\n'))).toContain(`Known in ${join(directory, 'templates')}: none`);
});

test('the image is named after all that goes into it', async () => {
  const imageOf = async (text: string) => {
    await write('templates/web.yaml', text);
    return (await load()).get('web')?.options.image;
  };
  const [first, sized] = [await imageOf('packages: [jq]\n'), await imageOf('packages: [jq]\nmemoryMb: 99\npool: 3\n')];
  expect(first).toMatch(/^longshore-template:web-[0-9a-f]{16}$/);
  expect(sized).toBe(first);
  expect(await imageOf('packages: [jq]\nsetup: [echo hi]\n')).not.toBe(first);
  expect(await imageOf('memoryMb: 99\n')).toBeUndefined();
  expect(await imageOf('image: mine:1\n')).toBe('mine:1');
  await write('templates/web/Dockerfile', 'ARG BASE\nFROM ${BASE}\nCOPY a /a\n');
  await write('templates/web/a', '1');
  const own = await imageOf('dockerfile: web/Dockerfile\n');
  await write('templates/web/a', '2');
  expect(await imageOf('dockerfile: web/Dockerfile\n')).not.toBe(own);
  expect(await messageOf(imageOf('dockerfile: web/none\n'))).toContain('cannot be read (no such file). Name a Dockerfile, relative to the template');
});

test('a template in TypeScript has the keys of a file', () => {
  const template = defineTemplate({ name: 'web', packages: ['jq'], users: ['builder'], setup: ['true', { run: 'id', user: 'root' }], pool: 2 });
  expect(template).toEqual({
    name: 'web',
    options: { template: 'web' },
    build: {
      packages: ['jq'],
      users: [{ name: 'builder' }],
      setup: [
        { run: 'true', user: 'user' },
        { run: 'id', user: 'root' },
      ],
    },
    pool: 2,
  });
});

describe('a bad template is refused with file, line, path and fix', () => {
  test.each<[string, string, string]>([
    ['a misspelt key', 'memory: 5\n', 'TEMPLATE_INVALID web.yaml:1: memory: this key is not known. Did you mean "memoryMb"?'],
    ['a key of agents', 'onClose: keep\n', 'web.yaml:1: onClose: this key is not known.'],
    ['a package that is none', 'packages: [ok, "a b; rm"]\n', 'packages[1]: "a b; rm" is not usable. "1": has to be the name of a Debian package'],
    ['a user that is there', 'users: [root]\n', 'web.yaml:1: users[0]: "root" is not usable'],
    [
      'a directory that is not the guest’s',
      'workDirectory: /srv\n',
      'workDirectory: "/srv" is not usable. "workDirectory": has to be /home/user or a directory below it',
    ],
    [
      'two bases',
      'image: a\ndockerfile: web/Dockerfile\n',
      'web.yaml:2: dockerfile: "web/Dockerfile" is not usable. "dockerfile": image and dockerfile exclude each other',
    ],
    ['a file that is no template', '[1]\n', 'TEMPLATE_INVALID web.yaml: (the whole file): [1] is not usable'],
  ])('%s', async (_, text, message) => {
    await write('templates/web.yaml', text);
    expect(await messageOf(load())).toContain(message);
  });

  test('a name that is there already', async () => {
    await write('templates/a.yaml', 'name: same\n');
    await write('templates/b.yml', 'name: same\n');
    expect(await messageOf(load())).toBe('TEMPLATE_INVALID b.yml: name: "same" is also the name of a.yaml. Give one of them another name');
  });
});

test('a script that may be run from now on, and a link that leads elsewhere, make another image', async () => {
  await write('templates/web/Dockerfile', 'ARG BASE\nFROM ${BASE}\nCOPY . /opt/own\n');
  await write('templates/web/run.sh', 'true\n');
  await write('templates/web.yaml', 'dockerfile: web/Dockerfile\n');
  const image = async () => (await load()).get('web')?.options.image;
  const images = [await image()];
  await chmod(join(directory, 'templates/web/run.sh'), 0o755);
  images.push(await image());
  // What git does not keep makes no difference.
  await chmod(join(directory, 'templates/web/run.sh'), 0o700);
  expect(await image()).toBe(images[1]);
  for (const target of ['run.sh', 'Dockerfile']) {
    await rm(join(directory, 'templates/web/link'), { force: true });
    await symlink(target, join(directory, 'templates/web/link'));
    images.push(await image());
  }
  expect(new Set(images).size).toBe(4);
});

test('no text of a template can become an instruction of its Dockerfile', () => {
  const run = 'echo "a"\nUSER 0\nENTRYPOINT ["x"]';
  const build = { packages: [], users: [], setup: [{ run, user: 'user' }], workDirectory: `/home/user/a'b` };
  const lines = imageDefinition(build, 'web', 'longshore-template:web-1').trimEnd().split('\n');
  expect(lines.filter((line) => /^(USER|ENTRYPOINT|CMD)/.test(line))).toEqual([
    'USER 0:0',
    'USER user',
    'USER user',
    'USER 0:0',
    'ENTRYPOINT []',
    'CMD ["python3","-I","-S","-B","/opt/longshore/supervisor.py"]',
  ]);
  expect(lines).toContain(`RUN ${JSON.stringify(['/bin/bash', '-euo', 'pipefail', '-c', run])}`);
});

test('schemas/template.schema.json is current (repair it with: npx tsx scripts/generate-schemas.ts), and accepts the shipped template', async () => {
  const file = new URL('../../../schemas/template.schema.json', import.meta.url);
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(templateJsonSchema());
  const validate = new Ajv({ strict: false, logger: false }).compile(templateJsonSchema());
  expect(validate({ packages: ['jq'], users: ['a', { name: 'b', uid: 2000 }], setup: ['x', { run: 'y', user: 'root' }], pool: 1 })).toBe(true);
  for (const wrong of [{ packages: 'jq' }, { pool: -1 }, { onClose: 'keep' }, { workDirectory: '/etc' }]) expect(validate(wrong)).toBe(false);
  const shipped = await loadTemplates(new URL('../../../templates', import.meta.url).pathname);
  expect(shipped.get('python')).toMatchObject({ name: 'python', pool: 1, options: { workDirectory: '/home/user/project' } });
});
