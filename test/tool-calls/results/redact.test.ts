import { redact } from '../../../src/tool-calls/results/redact.ts';
import { cpuMs } from '../../support/cpu-time.ts';

test.each([
  ['postgres://me:hunter22@db:5432/x is away', 'postgres://me:[redacted]@db:5432/x is away'],
  ['Authorization: Bearer abcdefgh.12345678==', 'Authorization: Bearer [redacted]'],
  ['bad key sk-proj-abcdefghijklmnop', 'bad key sk-[redacted]'],
  ['api_key=abcdef123456&user=me', 'api_key=[redacted]&user=me'],
  ['{"password": "hunter22", "user": "me"}', '{"password": "[redacted]", "user": "me"}'],
])('takes the credential out of %s', (text, clean) => {
  expect(redact(text)).toBe(clean);
});

test.each(['https://example.com/a:b@c is not there', 'the token is missing', 'no such file: /home/user/secret', 'exit code 1'])(
  'leaves %s as it is',
  (text) => {
    expect(redact(text)).toBe(text);
  },
);

test.each([
  ['a word', 'a'.repeat(400_000)],
  ['an address without a password', `a://${'b'.repeat(400_000)}`],
  ['spaces behind a word', `bearer ${' '.repeat(400_000)} token${' '.repeat(400_000)}`],
  ['beginnings of keys', 'sk-token=bearer '.repeat(50_000)],
])('takes no longer than the text: %s', (_, text) => {
  const since = cpuMs();
  redact(text);
  expect(cpuMs() - since).toBeLessThan(1_500);
});
