import { visibleLine } from '../../contracts/visible-text.ts';
import { preparedIn } from '../../oauth/sign-in-flow.ts';
import type { SignIn } from '../../store/sign-ins/sign-ins.ts';
import { escaped, page } from '../approvals/html.ts';

/** What a person sees before the authorization server. Who follows a link that was meant for somebody else would give that one access. */
export function signInPage(signIn: SignIn, agentId: string): string {
  const { userId, server, url, link } = signIn;
  const { authorization, scope } = preparedIn(signIn);
  const { authorizationServerUrl, authorizationServerMetadata } = authorization;
  const place = new URL(authorizationServerMetadata?.authorization_endpoint ?? authorizationServerUrl).host;
  const asked = scope === undefined ? '' : ` It asks for: <b>${line(scope)}</b>.`;
  return page(
    `Sign in for ${server}`,
    `<p>The agent <b>${line(agentId)}</b>, which works for the user <b>${line(userId)}</b>, wants to use <b>${line(server)}</b> (${line(url)}) with your account.${asked}</p>` +
      `<p>Go on only if you are that user and expected this. Otherwise, somebody else would get access to your account.</p>` +
      `<p><a href="${escaped(link)}/go" rel="noreferrer">Sign in at ${line(place)}</a></p>`,
  );
}

function line(text: string): string {
  return escaped(visibleLine(text));
}
