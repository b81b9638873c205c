import { relative } from 'node:path';
import { AGENT, makeProject, words, type Project } from '../plugins/add/support.ts';

let project: Project;
beforeEach(async () => {
  project = await makeProject();
});
afterEach(async () => project[Symbol.asyncDispose]());

const document = (more: object = {}) =>
  JSON.stringify({ name: 'example.acme/tickets', description: 'Tickets.\u001B[2J\nruns nothing', version: '1.0.0', ...more });
const npm = (version: string) => ({
  packages: [
    {
      registryType: 'npm',
      identifier: 'tickets',
      version,
      transport: { type: 'stdio' },
      environmentVariables: [{ name: 'KEY', isRequired: true, isSecret: true, description: 'A key' }],
    },
  ],
});
const add = (...args: string[]) => project.line(['mcp', 'add', 'tickets', project.path('server.json'), ...args]);
const shown = (name: string) => relative(process.cwd(), project.path(name));

test('a program is shown, and written into the files of agents in one version; again, it is updated where it is', async () => {
  await project.write('server.json', document(npm('1.2.3')));
  await project.write('agents/other.yaml', AGENT);
  const added = await add('--where', 'sandbox', '--agent', 'fixer', '--yes');
  expect(added).toEqual({
    code: 0,
    err: '',
    out: `example.acme/tickets 1.0.0
  Tickets.\\u001b[2J
  runs nothing
runs npx -y tickets@1.2.3
runs in the sandbox of each conversation that calls it
variable KEY: \${env.TICKETS_KEY}
needs the worker's variable TICKETS_KEY, as its variable KEY, a secret: A key
is written into ${shown('agents/fixer.yaml')}

Added tickets.
The sandbox needs npx, and these hosts in its egress: registry.npmjs.org
Its tools are called if the agent has them:  tools: ['tickets:*']
Workers read the files of agents when they start.
`,
  });
  const entryOf = (version: string) => `{ command: npx, args: [ -y, tickets@${version} ], env: { KEY: '\${env.TICKETS_KEY}' }, where: sandbox }`;
  expect(await project.read('agents/fixer.yaml')).toBe(`${AGENT}mcp:\n  tickets: ${entryOf('1.2.3')}\n`);
  expect(await project.read('agents/other.yaml')).toBe(AGENT);
  expect((await add('--where', 'sandbox')).out).toContain('\ntickets is there already, and nothing has changed.\n');

  await project.write('server.json', document(npm('2.0.0')));
  await project.write(
    'agents/fixer.yaml',
    (await project.read('agents/fixer.yaml')).replace('where: sandbox }', 'where: sandbox, timeout: 5m, directory: work }'),
  );
  const args = ['mcp', 'add', 'tickets', project.path('server.json'), '--where', 'sandbox'];
  const refused = await project.line(args, { answer: () => 'no' });
  expect(refused).toMatchObject({
    code: 1,
    out: expect.stringMatching(/\n {2}in place of \{ command: npx, .*\nReplace tickets by this\? \(y\/N\) Nothing was added\.\n$/) as string,
  });
  expect(await project.line(args, { answer: () => 'yes' })).toMatchObject({ code: 0, err: '' });
  expect(await project.read('agents/fixer.yaml')).toBe(
    `${AGENT}mcp:\n  tickets: ${entryOf('2.0.0').replace('where: sandbox }', 'where: sandbox, timeout: 5m, directory: work }')}\n`,
  );
});

test('how users sign in stays for as long as the server is at the same place', async () => {
  const remote = (path: string) => document({ ...npm('1.2.3'), remotes: [{ type: 'streamable-http', url: `https://203.0.114.1/${path}` }] });
  await project.write('agents/fixer.yaml', `${AGENT}mcp:\n  tickets: { url: 'https://203.0.114.1/old', oauth: user }\n`);
  await project.write('server.json', remote('mcp'));
  expect(await add('--yes')).toMatchObject({ code: 0, err: '' });
  expect(await project.read('agents/fixer.yaml')).toBe(`${AGENT}mcp:\n  tickets: { url: https://203.0.114.1/mcp, oauth: user }\n`);
  await project.write('agents/fixer.yaml', `${AGENT}mcp:\n  tickets: { url: 'https://old.example/mcp', oauth: user }\n`);
  expect(await add('--yes')).toMatchObject({ code: 0, err: '' });
  expect(await project.read('agents/fixer.yaml')).toBe(`${AGENT}mcp:\n  tickets: { url: https://203.0.114.1/mcp }\n`);
});

test('what an operator has set stays, unless the server is of another kind now', async () => {
  await project.write('server.json', document({ ...npm('1.2.3'), remotes: [{ type: 'streamable-http', url: 'https://203.0.114.1/mcp' }] }));
  await project.write('agents/fixer.yaml', `${AGENT}mcp:\n  tickets: { url: 'https://old.example/mcp', timeout: 5m, sampling: ask }\n`);
  expect(await add('--yes')).toMatchObject({ code: 0, err: '' });
  expect(await project.read('agents/fixer.yaml')).toBe(`${AGENT}mcp:\n  tickets: { url: https://203.0.114.1/mcp, timeout: 5m, sampling: ask }\n`);
  expect(await add('--where', 'sandbox', '--yes')).toMatchObject({ code: 0, err: '' });
  expect(await project.read('agents/fixer.yaml')).toMatch(/tickets: \{ command: npx, .* where: sandbox \}\n$/);
  // The file of the agent can still be read.
  expect(await add('--where', 'sandbox')).toMatchObject({ code: 0, out: expect.stringContaining('tickets is there already') as string });
});

test('a server at an address is written only if the address is public, or one that an operator allows', async () => {
  await project.write('server.json', document({ remotes: [{ type: 'streamable-http', url: 'https://10.1.2.3/mcp' }] }));
  expect(await add('--agent', 'fixer', '--yes')).toMatchObject({
    code: 1,
    err: 'Request to "10.1.2.3" refused: this address is not public (private); an operator can allow it in LONGSHORE_PLUGIN_ADDRESSES\n',
  });
  expect(await project.read('agents/fixer.yaml')).toBe(AGENT);
  process.env['LONGSHORE_PLUGIN_ADDRESSES'] = '10.1.2.3';
  try {
    const { out } = await add('--yes', '--json');
    expect(JSON.parse(out)).toEqual({
      name: 'tickets',
      server: 'example.acme/tickets',
      version: '1.0.0',
      entry: { url: 'https://10.1.2.3/mcp' },
      variables: [],
      left: [],
      agents: [],
    });
    expect((await add()).out).toContain('\nIn the file of an agent:  mcp: { tickets: { url: https://10.1.2.3/mcp } }\n');
  } finally {
    delete process.env['LONGSHORE_PLUGIN_ADDRESSES'];
  }
});

test('a document is fetched with https, and not from an address that is not public', async () => {
  const fetched = (address: string) => project.line(['mcp', 'add', 'tickets', address]);
  expect((await fetched('http://registry.example/a')).err).toContain('server.json: its address has to begin with https://.');
  expect((await fetched('https://127.0.0.1:1/a')).err).toContain('Request to "127.0.0.1" refused: this address is not public (loopback)');
  expect((await fetched('https://169.254.169.254/a')).err).toContain('Request to "169.254.169.254" refused: this address is not public (linkLocal)');
});

test('names that are taken or not usable, and files that cannot be changed, are refused', async () => {
  await project.write('server.json', document(npm('1.2.3')));
  await project.write('mine/index.js', words({ id: 'tickets' }));
  await project.write('agents/fixer.yaml', `${AGENT}plugins: [../mine]\n`);
  const named = (name: string) => project.line(['mcp', 'add', name, project.path('server.json'), '--where', 'host', '--yes']);
  expect((await named('tickets')).err).toBe(`Two plugins provide "tickets": ${project.path('mine')} and the MCP server example.acme/tickets. Rename one.\n`);
  expect((await named('shell')).err).toBe('Two plugins provide "shell": a built-in plugin and the MCP server example.acme/tickets. Rename one.\n');
  expect((await add('--where', 'host', '--set', 'KEY')).err).toBe('--set: "KEY" has no name or no =. Write --set name=value\n');
  const other = (value: string) => project.line(['mcp', 'add', 'other', project.path('server.json'), '--where', 'host', '--set', value]);
  expect((await other('KEY=${env.A}=')).out).toContain('\nvariable KEY: ${env.A}=\n');
  expect((await other('KEY=${env.A=}')).err).toContain('--set KEY: it is a secret, and those are not kept in plain text.');
  expect((await named('My server')).err).toBe('name: "My server" is not usable. Use a lower-case letter, then letters, digits and -, 40 at most\n');
  await project.write('agents/fixer.yaml', `{ ${AGENT.trim()} }\n`);
  expect((await add('--where', 'host', '--agent', 'fixer', '--yes')).err).toMatch(
    /^.*fixer\.yaml: its servers are written in a way that is not changed here\. Write this below mcp: tickets: \{ command: npx, /,
  );
  expect((await add('--where', 'host')).out).toContain('\nWorkers start it if they may:  LONGSHORE_HOST_PLUGINS=mcp:tickets\n');
  await project.write('agents/fixer.yaml', AGENT);
  expect(await add('--where', 'host', '--agent', 'fixer')).toMatchObject({
    code: 2,
    err: 'mcp add: the input is not a terminal, so it cannot ask for confirmation. Add --yes\n',
  });
  expect(await project.read('agents/fixer.yaml')).toBe(AGENT);
});
