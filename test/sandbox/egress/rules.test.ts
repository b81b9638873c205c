import { findRule, parseTarget } from '../../../src/sandbox/egress/rules.ts';

test.each([
  ['pypi.org:443', { host: 'pypi.org', port: 443 }],
  ['PyPI.org', { host: 'pypi.org', port: 80 }],
  ['[2001:db8::1]:8443', { host: '2001:db8::1', port: 8443 }],
  ['192.0.2.7:80', { host: '192.0.2.7', port: 80 }],
])('"%s" is a host with a port', (text, target) => {
  expect(parseTarget(text, 80)).toEqual(target);
});

test.each(['', ':80', 'a.test:0', 'a.test:65536', 'a.test:080000', 'a.test:80:80', 'user@a.test:80', 'a.test/:80', 'a test:80', 'a.test\n:80', '[a.test]:80'])(
  '%j is refused',
  (text) => {
    expect(parseTarget(text, 80)).toHaveProperty('refusal');
  },
);
test.each(['a\0.test', 'a.test.', '0x7f.1', '127.1', '017700000001', '2130706433', 'ａ.test', 'a..test', '-a.test', 'fe80::1%lo'])(
  'the host %j is odd',
  (host) => {
    expect(parseTarget(host, 80)).toHaveProperty('refusal');
  },
);
test('a host without a port gets no port', () => {
  expect(parseTarget('a.test')).toEqual({ refusal: 'this is not a host with a port' });
});

const list = [
  'pypi.org',
  '*.pypi.test',
  { host: 'api.test', headers: { authorization: 'x' } },
  { host: 'many.test', ports: [8080] },
  { host: 'many.test', ports: [9090] },
];

test.each([
  ['pypi.org', 443, true],
  ['pypi.org', 80, true],
  ['pypi.org', 22, false],
  ['files.pypi.org', 443, false],
  ['a.b.pypi.test', 443, true],
  ['pypi.test', 443, false],
  ['evilpypi.test', 443, false],
  ['api.test', 443, true],
  ['api.test', 80, false],
  ['many.test', 9090, true],
  ['192.0.2.7', 80, false],
])('of the list, %s:%i is allowed: %s', (host, port, allowed) => {
  expect('rule' in findRule(list, { host, port })).toBe(allowed);
});

test('a refusal names the ports that are on the list', () => {
  expect(findRule(list, { host: 'many.test', port: 1 })).toEqual({ refusal: 'of this host only port 8080, 9090 is on the list' });
});
