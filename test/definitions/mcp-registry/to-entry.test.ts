import { parseServerDocument } from '../../../src/definitions/mcp-registry/server-document.ts';
import { entryOf, type EntryOptions } from '../../../src/definitions/mcp-registry/to-entry.ts';

const make = (document: object, options: Partial<EntryOptions> = {}) =>
  entryOf(parseServerDocument(JSON.stringify({ name: 'example.acme/tickets', version: '1.0.0', ...document })), { name: 'tickets', set: {}, ...options });

const remote = (more: object = {}) => ({ remotes: [{ type: 'streamable-http', url: 'https://tickets.example/mcp', ...more }] });
const npm = (more: object = {}) => ({
  packages: [{ registryType: 'npm', identifier: '@acme/tickets', version: '1.2.3', transport: { type: 'stdio' }, ...more }],
});
const where = 'sandbox' as const;

test('a server at an address', () => {
  expect(make(remote())).toEqual({ entry: { url: 'https://tickets.example/mcp' }, given: [], left: [], from: [] });
});

test('headers and variables: what is required becomes a reference to a variable of the worker, what is not is left out', () => {
  const headers = [
    { name: 'Authorization', value: 'Bearer {token}', variables: { token: { description: 'A token', isSecret: true, isRequired: true } } },
    { name: 'X-Api-Key', isRequired: true, isSecret: true, description: 'A key' },
    { name: 'X-Plan', default: 'small' },
    { name: 'X-Trace', description: 'An id' },
  ];
  expect(make(remote({ url: 'https://tickets.example/{team}/mcp?{unknown}', headers, variables: { team: { default: 'all' } } }))).toEqual({
    entry: {
      url: 'https://tickets.example/all/mcp?{unknown}',
      headers: { authorization: 'Bearer ${env.TICKETS_TOKEN}', 'x-api-key': '${env.TICKETS_X_API_KEY}', 'x-plan': 'small' },
    },
    given: [
      { variable: 'TICKETS_TOKEN', as: 'variable token of its header Authorization', description: 'A token', isSecret: true },
      { variable: 'TICKETS_X_API_KEY', as: 'header X-Api-Key', description: 'A key', isSecret: true },
    ],
    left: ['header X-Trace: An id'],
    from: [],
  });
  const set = { team: 'ours', token: '${env.MINE}', 'X-Trace': '7' };
  expect(make(remote({ url: 'https://tickets.example/{team}/mcp', headers, variables: { team: {} } }), { set })).toMatchObject({
    entry: { url: 'https://tickets.example/ours/mcp', headers: { authorization: 'Bearer ${env.MINE}', 'x-trace': '7' } },
  });
});

test.each([
  [npm(), ['npx', '-y', '@acme/tickets@1.2.3'], ['registry.npmjs.org']],
  [
    npm({ runtimeHint: 'npx', runtimeArguments: [{ type: 'positional', value: '-y' }], registryBaseUrl: 'https://registry.npmjs.org/' }),
    ['npx', '-y', '@acme/tickets@1.2.3'],
    ['registry.npmjs.org'],
  ],
  [npm({ registryType: 'pypi', identifier: 'acme-tickets', runtimeHint: 'uvx' }), ['uvx', 'acme-tickets==1.2.3'], ['pypi.org', 'files.pythonhosted.org']],
])('a package is run in exactly one version: %j', (document, [command, ...args], from) => {
  expect(make(document, { where })).toEqual({ entry: { command, args, where }, given: [], left: [], from });
});

test('arguments and variables of a package', () => {
  const packageArguments = [
    { type: 'positional', value: 'serve' },
    { type: 'named', name: '--port', default: '8080' },
    { type: 'named', name: '--verbose', description: 'Says more' },
    { type: 'positional', valueHint: 'directory', isRequired: true, description: 'Where tickets are' },
  ];
  const environmentVariables = [
    { name: 'API_KEY', isRequired: true, isSecret: true },
    { name: 'NODE_ENV', value: 'production' },
    { name: 'REGION', choices: ['north', 'south'] },
  ];
  const document = npm({ packageArguments, environmentVariables });
  expect(() => make(document, { where })).toThrow("--set: the server needs its argument directory. Add --set 'directory=…' (Where tickets are)");
  expect(make(document, { where, set: { directory: '/home/user/tickets', REGION: 'north' } })).toEqual({
    entry: {
      command: 'npx',
      args: ['-y', '@acme/tickets@1.2.3', 'serve', '--port', '8080', '/home/user/tickets'],
      env: { API_KEY: '${env.TICKETS_API_KEY}', NODE_ENV: 'production', REGION: 'north' },
      where,
    },
    given: [{ variable: 'TICKETS_API_KEY', as: 'variable API_KEY', description: '', isSecret: true }],
    left: ['argument --verbose: Says more'],
    from: ['registry.npmjs.org'],
  });
});

const NOT_USABLE = 'Use another server, or write its entry yourself (docs/guides/mcp.md)';

test.each<[string, object, Partial<EntryOptions>, string]>([
  [
    'a program without a place',
    npm(),
    {},
    "--where: the server is a program, and it is not said where it runs. Add --where sandbox, or --where host, where it has all rights of the worker's user",
  ],
  [
    'a kind that is not known',
    { remotes: [{ type: 'sse', url: 'https://a.example' }], packages: [{ registryType: 'oci', identifier: 'a', transport: { type: 'stdio' } }] },
    {},
    `server.json: it has none of streamable-http, npm with stdio or pypi with stdio, only sse, oci with stdio. ${NOT_USABLE}`,
  ],
  ['nothing', {}, { where }, `server.json: it has none of npm with stdio or pypi with stdio, only nothing to connect to. ${NOT_USABLE}`],
  ['a range', npm({ version: '^1.0.0' }), { where }, `server.json: "^1.0.0" is no exact version of its package. ${NOT_USABLE}`],
  ['no version', npm({ version: undefined }), { where }, `server.json: "" is no exact version of its package. ${NOT_USABLE}`],
  ['an option as a package', npm({ identifier: '--call=evil' }), { where }, `server.json: "--call=evil" is no name of a package. ${NOT_USABLE}`],
  [
    'a file as a package',
    npm({ identifier: 'https://evil.example/a.tgz' }),
    { where },
    `server.json: "https://evil.example/a.tgz" is no name of a package. ${NOT_USABLE}`,
  ],
  [
    'another registry',
    npm({ registryBaseUrl: 'https://evil.example' }),
    { where },
    `server.json: its package is in another registry, https://evil.example. ${NOT_USABLE}`,
  ],
  [
    'a digest that is not checked',
    npm({ fileSha256: '0'.repeat(64) }),
    { where },
    `server.json: its package has a digest, which npx does not check. ${NOT_USABLE}`,
  ],
  ['another runner', npm({ runtimeHint: 'bash' }), { where }, `server.json: it wants to be run by "bash", and only npx is used. ${NOT_USABLE}`],
  [
    'options of the runner',
    npm({ runtimeArguments: [{ type: 'named', name: '--registry', value: 'https://evil.example' }] }),
    { where },
    `server.json: it has options for npx itself. ${NOT_USABLE}`,
  ],
  [
    'a variable that steers the runner',
    npm({ environmentVariables: [{ name: 'npm_config_registry', value: 'https://evil.example' }] }),
    { where },
    `server.json: its variable "npm_config_registry" would change how the server is started. ${NOT_USABLE}`,
  ],
  [
    'a variable that loads code',
    npm({ environmentVariables: [{ name: 'NODE_OPTIONS', value: '--require=/tmp/x' }] }),
    { where },
    `server.json: its variable "NODE_OPTIONS" would change how the server is started. ${NOT_USABLE}`,
  ],
  ['a header that frames', remote({ headers: [{ name: 'Host', value: 'a' }] }), {}, `server.json: its header "Host" is not one that may be set. ${NOT_USABLE}`],
  [
    'a header with a line break',
    remote({ headers: [{ name: 'A\r\nB', value: 'a' }] }),
    {},
    'server.json: /remotes/0/headers/0/name: has a line break or another control character. Give a server.json of the registry of MCP servers: a file, or an address with https://',
  ],
  ['an address without TLS', remote({ url: 'http://tickets.example/mcp' }), {}, `server.json: its address does not begin with https://. ${NOT_USABLE}`],
  [
    'a variable of the worker in a header',
    remote({ headers: [{ name: 'X', value: '${env.AWS_ACCESS_KEY_ID}' }] }),
    {},
    'server.json: its header X refers to variables of the worker, which only the file of an agent may do. Do not use this server',
  ],
  [
    'a variable of the worker in an address',
    remote({ url: 'https://a.example/${env.HOME}' }),
    {},
    'server.json: its address refers to variables of the worker, which only the file of an agent may do. Do not use this server',
  ],
  [
    'a variable of the worker in a default',
    npm({ environmentVariables: [{ name: 'X', default: '${env.HOME}' }] }),
    { where },
    'server.json: its variable X refers to variables of the worker, which only the file of an agent may do. Do not use this server',
  ],
  [
    'a reference that is put together',
    remote({ headers: [{ name: 'X', value: '${a}', variables: { a: { default: '{env.HOME}' } } }] }),
    {},
    'server.json: its header X refers to variables of the worker, which only the file of an agent may do. Do not use this server',
  ],
  [
    "a variable of Longshore's own",
    remote({ headers: [{ name: 'key', isRequired: true }] }),
    { name: 'temporal' },
    'server.json: its header key would be the variable TEMPORAL_KEY, which no server may have. Give the server another name',
  ],
  [
    'a secret in plain text',
    remote({ headers: [{ name: 'key', isSecret: true }] }),
    { set: { key: 'abc' } },
    "--set key: it is a secret, and those are not kept in plain text. Set a variable for the worker and write --set 'key=${env.ITS_NAME}'",
  ],
  [
    'a secret argument',
    npm({ packageArguments: [{ type: 'named', name: '--token', isSecret: true, isRequired: true }] }),
    { where },
    'server.json: its argument --token is a secret, which a command line does not keep. Use another server',
  ],
  [
    'a value that is no choice',
    npm({ environmentVariables: [{ name: 'R', choices: ['a', 'b'] }] }),
    { where, set: { R: 'c' } },
    '--set R: "c" is none of its values. Take one of a, b',
  ],
  ['a value that nothing asks for', remote({ headers: [{ name: 'key' }] }), { set: { other: 'a' } }, '--set: the server has no "other". It takes key'],
  [
    'a value that is fixed',
    remote({ headers: [{ name: 'key', value: 'a' }] }),
    { set: { key: 'b' } },
    '--set: the header key is set by the author of the server. Leave key out',
  ],
])('%s is refused', (_, document, options, message) => {
  expect(() => make(document, options)).toThrow(expect.objectContaining({ message, code: 'INVALID_ARGUMENT' }) as Error);
});

test('the envelope of the API of the registry is taken off', () => {
  expect(parseServerDocument(JSON.stringify({ server: { name: 'a/b', version: '1' }, _meta: {} }))).toMatchObject({ name: 'a/b', remotes: [], packages: [] });
});

test.each([
  ['no', /^server\.json: it is not JSON \(.*\)\. Give a server\.json of the registry/],
  ['{"name":"a"}', /^server\.json: \/version: Invalid input: expected string, received undefined\. Give a server\.json/],
])('%s is no document', (text, message) => {
  expect(() => parseServerDocument(text)).toThrow(message);
});
