import { signInPage } from '../../src/api/sign-ins/sign-in-page.ts';
import type { SignIn } from '../../src/store/sign-ins/sign-ins.ts';

const HOSTILE = `<script>alert(1)</script>"'\u202E`;

test('the page says who would get access to what, and nothing of it acts', () => {
  const authorization = {
    authorizationServerUrl: 'https://auth.example',
    authorizationServerMetadata: { authorization_endpoint: 'https://login.example/authorize' },
  };
  const signIn = {
    userId: HOSTILE,
    server: 'desk',
    url: `https://desk.example/${HOSTILE}`,
    link: 'L'.repeat(43),
    secret: { authorization, client: { client_id: 'ours' }, scope: `notes ${HOSTILE}`, publicUrl: 'https://longshore.example' },
  } as unknown as SignIn;
  const page = signInPage(signIn, HOSTILE);
  expect(page).not.toMatch(/<script|\u202E/);
  expect(page).toContain(`<a href="${'L'.repeat(43)}/go" rel="noreferrer">Sign in at login.example</a>`);
  expect(page).toContain('Go on only if you are that user and expected this.');
  expect(page).toContain('It asks for: <b>notes &#60;script');
});
