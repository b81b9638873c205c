import { defineAgent } from '../../../src/definitions/agents/define-agent.ts';

const parse = (server: object) => defineAgent({ id: 'clerk', model: 'anthropic/x', mcp: { desk: { url: 'https://desk.example/mcp', ...server } } });

test.each([
  ['user', { as: 'user' }],
  [
    { as: 'user', clientId: 'ours', clientSecret: '${env.S}', issuer: 'https://auth.example' },
    { as: 'user', clientId: 'ours', clientSecret: '${env.S}', issuer: 'https://auth.example' },
  ],
  [
    { as: 'worker', clientId: 'ours', privateKey: '${env.K}', algorithm: 'ES256', issuer: 'https://auth.example' },
    { as: 'worker', clientId: 'ours', privateKey: '${env.K}', algorithm: 'ES256', issuer: 'https://auth.example' },
  ],
])('oauth %j is how a server is signed in at', (oauth, parsed) => {
  expect(parse({ oauth }).mcp?.['desk']).toMatchObject({ oauth: parsed });
});

test('a server without it has none', () => {
  expect(parse({}).mcp?.['desk']).not.toHaveProperty('oauth');
});

test.each([
  [{ oauth: 'users' }],
  [{ oauth: { as: 'user', clientSecret: 'x' } }],
  [{ oauth: { as: 'user', clientId: 'ours', clientSecret: 'x' } }],
  [{ oauth: { as: 'worker', clientId: 'ours', issuer: 'https://auth.example' } }],
  [{ oauth: { as: 'worker', clientId: 'ours', clientSecret: 'x' } }],
  [{ oauth: { as: 'worker', clientId: 'ours', clientSecret: 'x', privateKey: 'k', algorithm: 'ES256', issuer: 'https://auth.example' } }],
  [{ oauth: 'user', headers: { Authorization: 'Bearer x' } }],
])('%j is refused', (server) => {
  expect(() => parse(server)).toThrow(expect.objectContaining({ code: 'AGENT_INVALID' }));
});
