import { inspect } from 'node:util';
import { pino } from 'pino';
import { SignInNeeded, signInNeededIn, type PreparedSignIn } from '../../src/oauth/sign-in-needed.ts';

const prepared = {
  authorization: { authorizationServerUrl: 'https://auth.example' },
  client: { client_id: 'ours', client_secret: 'canary-secret' },
  publicUrl: 'https://longshore.example',
} as PreparedSignIn;

test('what a sign-in needs has secrets, and is not in what is logged of the error', () => {
  const needed = new SignInNeeded(prepared);
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  for (const err of [needed, new Error('the tools could not be listed', { cause: needed }), new AggregateError([needed])]) {
    log.warn({ err }, 'it failed');
    lines.push(JSON.stringify(err), inspect(err));
  }
  expect(lines).toHaveLength(9);
  expect(lines.join('\n')).toContain('the user has to sign in first');
  expect(lines.join('\n')).not.toContain('canary-secret');
  expect(signInNeededIn(new Error('outer', { cause: needed }))?.prepared).toBe(prepared);
});
