import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isFailure } from '../../../src/contracts/errors.ts';
import { limitsOf } from '../../../src/definitions/agents/limits-of.ts';
import { loadAgents } from '../../../src/definitions/agents/load-agents.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-agents-'));
});
afterEach(async () => {
  delete process.env['LONGSHORE_TEST_URL'];
  await rm(directory, { recursive: true });
});

async function write(name: string, text: string): Promise<void> {
  await writeFile(join(directory, name), text);
}

async function messageOf(text: string): Promise<string> {
  await write('fixer.yaml', text);
  return loadAgents(directory).then(
    () => 'accepted',
    (error: unknown) => (isFailure(error) ? `${error.code} ${error.message}` : String(error)),
  );
}

test('an agent file is read with durations, the environment and relative paths', async () => {
  process.env['LONGSHORE_TEST_URL'] = 'http://127.0.0.1:9/v1';
  await write(
    'fixer.yaml',
    `id: fixer
model: scripted/scripts/fix.yaml
modelOptions: { temperature: 0, baseUrl: "\${env.LONGSHORE_TEST_URL}/x" }
instructions: You repair Python projects.
plugins: [./plugins/weather, "@scope/plugin"]
tools: ["shell:run", "files:*"]
sandbox: { image: "python:3", memoryMb: 512, idle: { freeze: 1m, hibernate: 10m, stop: 24h, archive: 7d }, onClose: keep }
approval:
  - { tool: "shell:run", when: { command: "rm *" }, decide: ask }
  - { tool: "shell:run", decide: allow }
requireApproval: { "weather:*": true }
approvalTimeout: { after: 1h, then: pause }
deferTools: { over: 10 }
context: { window: 32000, keepTurns: 2 }
budget: { turns: 5, wallTime: 1.5h }
`,
  );
  const agent = (await loadAgents(directory)).get('fixer');
  expect(agent).toEqual({
    id: 'fixer',
    model: `scripted/${join(directory, 'scripts/fix.yaml')}`,
    modelOptions: { temperature: 0, baseUrl: 'http://127.0.0.1:9/v1/x' },
    instructions: 'You repair Python projects.',
    plugins: [join(directory, 'plugins/weather'), '@scope/plugin'],
    tools: ['shell:run', 'files:*'],
    sandbox: {
      image: 'python:3',
      memoryMb: 512,
      freezeAfterMs: 60_000,
      hibernateAfterMs: 600_000,
      stopAfterMs: 86_400_000,
      archiveAfterMs: 604_800_000,
      onClose: 'keep',
    },
    approval: [
      { tool: 'shell:run', when: { command: 'rm *' }, decide: 'ask' },
      { tool: 'shell:run', decide: 'allow' },
    ],
    requireApproval: { 'weather:*': true },
    approvalTimeoutMs: 3_600_000,
    approvalExpiry: 'pause',
    deferTools: { over: 10, pin: ['shell:*', 'code:*', 'files:*'] },
    context: { window: 32_000, compactAt: 0.8, keepTurns: 2 },
    budget: { turns: 5, steps: 40, tokens: 2_000_000, wallTimeMs: 5_400_000, storageMb: 100 },
  });
});

test('a file needs only a model; its name is the id, the rest has defaults', async () => {
  await write('helper.yaml', 'model: openai/gpt-5\n');
  await write('notes.txt', 'not an agent');
  const agents = await loadAgents(directory);
  expect([...agents.keys()]).toEqual(['helper']);
  const agent = agents.get('helper')!;
  expect(agent).toMatchObject({ tools: ['shell:*', 'code:*', 'files:*'], plugins: [], approval: [], instructions: '' });
  expect(limitsOf(agent)).toEqual({
    budget: { turns: 50, steps: 40, tokens: 2_000_000, wallTimeMs: 7_200_000, storageMb: 100 },
    freezeAfterMs: 30_000,
    hibernateAfterMs: 0,
    stopAfterMs: 0,
    archiveAfterMs: 0,
    onClose: 'destroy',
    approvalTimeoutMs: 604_800_000,
  });
});

test('assets are found beside the file, a named sandbox is kept, and what is held rests later', async () => {
  await write('held.yaml', 'model: a/b\nsandbox: { sandboxId: sbx_1, keepalive: 1m, assets: [{ from: ./data, to: in }], idle: { freeze: 1s } }\n');
  await write('never.yaml', 'model: a/b\nsandbox: { persist: false, keepalive: true, idle: { stop: 1h } }\n');
  const agents = await loadAgents(directory);
  const held = agents.get('held')!;
  expect(held.sandbox).toMatchObject({ sandboxId: 'sbx_1', onClose: 'keep', assets: [{ from: join(directory, 'data'), to: 'in' }] });
  expect(limitsOf(held)).toMatchObject({ freezeAfterMs: 61_000, hibernateAfterMs: 0, stopAfterMs: 0 });
  expect(limitsOf(agents.get('never')!)).toMatchObject({ freezeAfterMs: 0, stopAfterMs: 0, persist: false });
});

test('backups of the sandbox: at the end of turns, after a time, or none', async () => {
  for (const value of ['turn', '10m', 'off']) await write(`${value}.yaml`, `model: a/b\nsandbox: { backup: ${value} }\n`);
  const agents = await loadAgents(directory);
  const found = ['turn', '10m', 'off'].map((id) => ({ backup: agents.get(id)!.sandbox.backup, limit: limitsOf(agents.get(id)!).backup }));
  expect(found).toEqual([{ backup: 'turn', limit: true }, { backup: 600_000, limit: true }, {}]);
});

test('the entry of a plugin may say what it has to be and what it may want at most', async () => {
  const entries = [
    '{ path: ./notes, permissions: { time: true, network: [api.example] } }',
    '{ package: charts, permissions: {} }',
    '{ package: charts, version: 1.0.0 }',
    './plain',
  ];
  await write('bound.yaml', `model: a/b\nplugins: [${entries.join(', ')}]\n`);
  await write('wild.yaml', 'model: a/b\nplugins: [{ path: ./notes, permissions: { network: ["*.example"] } }]\n');
  await expect(loadAgents(directory)).rejects.toThrow('wild.yaml:2: plugins[0]');
  await rm(join(directory, 'wild.yaml'));
  expect((await loadAgents(directory)).get('bound')?.pluginPins).toEqual({
    [join(directory, 'notes')]: { permissions: { time: true, network: ['api.example'] } },
    charts: { version: '1.0.0', permissions: {} },
  });
});

test('an agent names agents that it may give tasks to; one that does not exist is refused', async () => {
  await write('reader.yaml', 'model: a/b\n');
  await write(
    'editor.yaml',
    'model: a/b\nagents: { reader: { agent: reader, description: Reads., budget: { tokens: 5000, wallTime: 5m } }, other: { agent: reader, description: Too. } }\n',
  );
  const { agents } = (await loadAgents(directory)).get('editor')!;
  expect(agents).toEqual({
    reader: { agent: 'reader', description: 'Reads.', budget: { tokens: 5000, wallTimeMs: 300_000 } },
    other: { agent: 'reader', description: 'Too.', budget: {} },
  });
  await write('editor.yaml', 'model: a/b\nagents: { reader: { agent: raeder, description: Reads. } }\n');
  await expect(loadAgents(directory)).rejects.toThrow(
    'editor.yaml: agents.reader.agent: there is no agent "raeder". Did you mean "reader"? Known: editor, reader',
  );
});

describe('a bad file is refused with file, line, path, value and fix', () => {
  test.each<[string, string, string]>([
    [
      'a misspelt key',
      'model: a/b\ninstuctions: x\n',
      'AGENT_INVALID fixer.yaml:2: instuctions: this key is not known. Did you mean "instructions"? Known here: id, model,',
    ],
    [
      'a misspelt key below',
      'model: a/b\nsandbox:\n  idle:\n    freez: 3s\n',
      'fixer.yaml:4: sandbox.idle.freez: this key is not known. Did you mean "freeze"? Known here: freeze, hibernate, stop, archive',
    ],
    [
      'an unknown key of a rule',
      'model: a/b\napproval:\n  - tool: x\n    decide: ask\n    wen: {}\n',
      'fixer.yaml:5: approval[0].wen: this key is not known. Did you mean "when"? Known here: tool, plugin, annotation, when, decide',
    ],
    [
      'an unknown key where several shapes may stand',
      'model: a/b\nplugins: [{ package: x, versoin: 1.0.0 }]\n',
      'fixer.yaml:2: plugins[0].versoin: this key is not known. Did you mean "version"? Known here: package, version, digest, permissions, path',
    ],
    [
      'an unknown key of something named',
      'model: a/b\nmcp:\n  files: { command: node, where: host, arg: [] }\n',
      'fixer.yaml:3: mcp.files.arg: this key is not known. Did you mean "args"? Known here: command, args,',
    ],
    [
      'a rule that says auto without a judge',
      'model: a/b\napproval:\n  - { tool: x, decide: auto }\n',
      'fixer.yaml:3: approval[0].decide: is auto, and the agent has no judge. Add judge: { model: provider/model, rules: [ … ] }',
    ],
    [
      'a condition on a list',
      'model: a/b\napproval: [{ tool: x, when: { paths: [a] }, decide: ask }]\n',
      'fixer.yaml:2: approval[0].when.paths: ["a"] is not usable. "paths": has to be a text, a number, true or false; lists and objects are compared as their JSON text',
    ],
    [
      'an expiry that says no time',
      'model: a/b\napprovalTimeout: { then: allow }\n',
      'fixer.yaml:2: approvalTimeout: {"then":"allow"} is not usable. "approvalTimeout": has to be a time, such as 30s or 1h, or { after: 1h, then: deny }',
    ],
    ['a key that resembles none', 'model: a/b\nxyzzy: 1\n', 'fixer.yaml:2: xyzzy: this key is not known. Known here: id,'],
    ['no model', 'instructions: x\n', 'fixer.yaml: model: is missing. "model": has to be provider/model, such as '],
    ['a misspelt key that is needed', 'instructions: x\nmodle: a/b\n', 'fixer.yaml:2: modle: this key is not known. Did you mean "model"?'],
    ['a text for a list', 'model: a/b\ntools: shell:run\n', 'fixer.yaml:2: tools: "shell:run" is not usable. "tools": has to be a list, such as [a, b]'],
    ['a word that is none of several', 'model: a/b\ncheckpoints: always\n', '"checkpoints": has to be turn or step or off'],
    ['a model without provider', 'model: gpt\n', 'fixer.yaml:1: model: "gpt" is not usable. "model": has to be provider/model'],
    [
      'a named sandbox that would be destroyed',
      'model: a/b\nsandbox: { persist: false, sandboxId: sbx_1 }\n',
      'fixer.yaml:2: sandbox.persist: false is not usable. "persist": false would destroy the sandbox that sandboxId names. Leave one of them out',
    ],
    [
      'a backup of what is destroyed',
      'model: a/b\nsandbox: { persist: false, backup: turn }\n',
      'fixer.yaml:2: sandbox.backup: "turn" is not usable. "backup": has nothing to keep where persist is false. Leave one of them out',
    ],
    [
      'backups that are made all the time',
      'model: a/b\nsandbox: { backup: 5s }\n',
      'fixer.yaml:2: sandbox.backup: "5s" is not usable. "backup": has to be turn, off or a duration of at least 10s',
    ],
    [
      'a label that no host can have',
      'model: a/b\nsandbox: { hostLabels: ["gpu,zone=a"] }\n',
      'fixer.yaml:2: sandbox.hostLabels[0]: "gpu,zone=a" is not usable. "0": has to be a label of a host, such as gpu or zone=a',
    ],
    [
      'a bad duration',
      'model: a/b\nsandbox:\n  idle: { stop: 3 days }\n',
      'fixer.yaml:3: sandbox.idle.stop: "3 days" is not usable. "stop": is not a duration; write 30s, 10m, 24h or 7d',
    ],
    ['a bad decision', 'model: a/b\napproval:\n  - { tool: x, decide: yes }\n', 'fixer.yaml:3: approval[0].decide: "yes" is not usable. "decide": '],
    ['a budget of zero', 'model: a/b\nbudget: { wallTime: 0 }\n', 'fixer.yaml:2: budget.wallTime: 0 is not usable. "wallTime": has to be above 0'],
    [
      'a time limit that no timer takes',
      'model: a/b\nmcp:\n  files: { command: node, where: host, timeout: 30d }\n',
      'fixer.yaml:3: mcp.files.timeout: "30d" is not usable. "timeout": is longer than a call can take; give at most 24d',
    ],
    ['a list', '- a\n', 'fixer.yaml: (the whole file): ["a"] is not usable.'],
    ['an empty file', '', 'fixer.yaml: (the whole file): null is not usable. "definition": has to be a map of keys'],
    ['no YAML', 'model: a/b\ntools: [a\n', 'fixer.yaml:3: (the whole file): is not YAML ('],
    [
      'aliases that multiply',
      `model: a/b\na0: &a0 [x, x]\n${Array.from({ length: 30 }, (_, level) => `a${level + 1}: &a${level + 1} [*a${level}, *a${level}]\n`).join('')}`,
      'fixer.yaml: (the whole file): its aliases cannot be resolved (Excessive alias count indicates a resource exhaustion attack). Write out what the aliases stand for',
    ],
    [
      'an alias in a circle',
      'model: a/b\ntools: &a [*a]\n',
      'fixer.yaml: (the whole file): its aliases cannot be resolved (an alias stands within what it refers to)',
    ],
    ['an alias of nothing', 'model: *a\n', 'fixer.yaml: (the whole file): its aliases cannot be resolved (Unresolved alias'],
    [
      'a missing variable',
      'model: a/b\nmodelOptions:\n  key: ${env.LONGSHORE_TEST_NONE}\n',
      'fixer.yaml:3: modelOptions.key: the environment variable LONGSHORE_TEST_NONE is not set. Set LONGSHORE_TEST_NONE for the worker',
    ],
  ])('%s', async (_, text, expected) => {
    await expect(messageOf(text)).resolves.toContain(expected);
  });
});

test('an error never shows a value from the environment', async () => {
  process.env['LONGSHORE_TEST_URL'] = 'secret value';
  const message = await messageOf('model: ${env.LONGSHORE_TEST_URL}\n');
  expect(message).toContain('"${env.LONGSHORE_TEST_URL}" is not usable');
  expect(message).not.toContain('secret value');
});

test('two files with one id are refused, naming both', async () => {
  await write('a.yaml', 'id: same\nmodel: a/b\n');
  await write('b.yml', 'id: same\nmodel: a/b\n');
  await expect(loadAgents(directory)).rejects.toThrow('b.yml: id: "same" is also the id of a.yaml. Give one of them another id');
});

test('a missing directory is a problem of the configuration', async () => {
  await expect(loadAgents(join(directory, 'none'))).rejects.toMatchObject({ code: 'CONFIG_INVALID', values: { name: 'LONGSHORE_AGENTS' } });
});

test('credentials of egress and secrets stay references, and have to be set all the same', async () => {
  const text =
    'model: scripted/s.yaml\nsandbox: { egress: [pypi.test, { host: "${env.LONGSHORE_TEST_URL}.test", headers: { a: "${env.LONGSHORE_TEST_URL}" } }], secrets: { KEY: "${env.LONGSHORE_TEST_URL}" } }\n';
  expect(await messageOf(text)).toMatch(/^AGENT_INVALID fixer\.yaml:2: sandbox\.egress\.1\.host: the environment variable LONGSHORE_TEST_URL is not set/);
  process.env['LONGSHORE_TEST_URL'] = 'api';
  await write('fixer.yaml', text);
  const agent = (await loadAgents(directory)).get('fixer');
  expect(agent?.sandbox.secrets).toEqual({ KEY: '${env.LONGSHORE_TEST_URL}' });
  expect(agent?.sandbox.egress).toEqual(['pypi.test', { host: 'api.test', headers: { a: '${env.LONGSHORE_TEST_URL}' } }]);
});

test.each([
  ['["a.test/path"]', /has to be a plain lower-case host name/],
  ['["*.*.test"]', /has to be a plain lower-case host name/],
  ['[{ host: a.test, ports: [0] }]', /egress/],
  ['[{ host: a.test, headers: { Host: b } }]', /egress/],
  ['[{ host: a.test, headers: { a: "b\\r\\nc: d" } }]', /egress/],
  ['[{ host: a.test, header: {} }]', /egress/],
])('an egress list of %s is refused', async (list, message) => {
  expect(await messageOf(`model: scripted/s.yaml\nsandbox: { egress: ${list} }\n`)).toMatch(message);
});
