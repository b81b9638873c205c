import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditSource } from '../../contracts/audit.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import { questionTool } from '../../contracts/questions/question.ts';
import { clientDocumentUrl, clientMetadata, PATHS } from '../../oauth/client-of-users.ts';
import { comeBack, preparedIn, setOut, SignInFailed, WAY_MS } from '../../oauth/sign-in-flow.ts';
import { asTenant } from '../../store/database/tenant-scope.ts';
import type { SignIn } from '../../store/sign-ins/sign-ins.ts';
import { escaped, page, PAGE_HEADERS } from '../approvals/html.ts';
import { problemOf } from '../http/problem.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { cookieHeader, cookieName, cookieOf } from './browser-cookie.ts';
import { signInPage } from './sign-in-page.ts';

const OPEN = { config: { scope: 'none' }, schema: { hide: true } } as const;

/**
 * Pages on which users sign in at the authorization servers of MCP servers. To open the first one changes nothing: programs open links before people do. Its link leads
 * to the authorization server, which sends the browser back to the last one.
 */
export function addSignInPages(api: Api, parts: RouteParts): void {
  const { store, addressOf, oauthAddresses: allowAddresses, log } = parts;
  void api.register(async (pages) => {
    pages.setErrorHandler((error, request, reply) => {
      const { problem, isOurs } = problemOf(error, request);
      if (error instanceof SignInFailed) log.warn({ request: request.id, problem: error.message }, 'a sign-in at an MCP server failed');
      else if (isOurs) request.log.error({ err: error, request: request.id }, 'a request failed');
      return send(reply, error instanceof SignInFailed ? 502 : problem.status, ...told(error, problem.status));
    });
    pages.get(`${PATHS.signIn}/:link`, OPEN, async (request, reply) => {
      const signIn = await openOne(parts, request);
      const row = await asTenant(signIn.tenantId, () => store.conversations.get(signIn.conversationId));
      if (!row) throw ended();
      return reply.headers(PAGE_HEADERS).send(signInPage(signIn, row.agentId));
    });
    pages.get(`${PATHS.signIn}/:link/go`, OPEN, async (request, reply) => {
      const signIn = await openOne(parts, request);
      const { publicUrl } = preparedIn(signIn);
      const browser = { name: cookieName(publicUrl), known: cookieOf(request) };
      const { location, cookie } = await asTenant(signIn.tenantId, () => setOut({ rows: store.signIns, allowAddresses }, signIn, browser));
      const headers = { ...PAGE_HEADERS, location, 'set-cookie': cookieHeader(cookie, WAY_MS), 'cache-control': 'no-store' };
      return reply.code(303).headers(headers).send('');
    });
    pages.get(PATHS.callback, OPEN, async (request, reply) => {
      await finish(parts, request);
      return send(reply, 200, 'You are signed in', 'You can close this page. The agent goes on.');
    });
    pages.get(PATHS.client, OPEN, async (request, reply) => {
      const publicUrl = addressOf(request);
      const client = { client_id: clientDocumentUrl(publicUrl), ...clientMetadata(publicUrl), token_endpoint_auth_method: 'none' };
      return reply.header('content-type', 'application/json').send(JSON.stringify(client));
    });
  });
}

/** Takes the code of an authorization server, and answers the questions of all calls that waited for it. */
async function finish(parts: RouteParts, request: FastifyRequest): Promise<void> {
  const { store, oauthAddresses: allowAddresses, log } = parts;
  const { signIn, waiting } = await comeBack({ rows: store.signIns, allowAddresses }, returnOf(request), cookieOf(request));
  const { signInId, server, tenantId } = signIn;
  const by = { actor: { kind: 'link' as const, id: signInId }, requestId: request.id };
  await store.audit.add({ ...by, action: 'user.sign-in', target: server, tenantId });
  for (const one of waiting) {
    await asTenant(one.tenantId, () => answer(parts, one, by)).catch((error: unknown) =>
      // Its worker looks for the sign-in by itself.
      log.warn({ err: error, conversationId: one.conversationId }, 'the question of a sign-in could not be answered'),
    );
  }
}

async function answer({ store, longshoreBy }: RouteParts, signIn: SignIn, by: AuditSource): Promise<void> {
  const { signInId, server, conversationId, link } = signIn;
  const { publicUrl } = preparedIn(signIn);
  const row = await store.conversations.get(conversationId);
  const pending = row?.status.pendingApprovals.find(
    ({ tool, arguments: asked }) => tool === questionTool(server) && asked?.['url'] === `${publicUrl}${PATHS.signIn}/${link}`,
  );
  if (!pending) return;
  const { callId, hash } = pending;
  await longshoreBy(by).approve(conversationId, { callId, answer: 'allow-once', hash, by: `sign-in ${signInId}` });
}

function returnOf({ query }: FastifyRequest): Parameters<typeof comeBack>[1] {
  const { state, code, error, iss } = query as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return { state: text(state) ?? '', code: text(code), error: text(error), issuer: text(iss) };
}

async function openOne({ store }: RouteParts, { params }: FastifyRequest): Promise<SignIn> {
  const signIn = await store.signIns.byLink((params as { link: string }).link);
  if (!signIn) throw ended();
  return signIn;
}

function ended(): Error {
  return failure('LINK_ENDED', { problem: 'is not valid, was used already, or has expired' });
}

/** Title and text for a person who has no account and no log. */
function told(error: unknown, status: number): [title: string, text: string] {
  if (isFailure(error, 'LINK_ENDED'))
    return ['This link does not work any more', `It ${String(error.values['problem'])}. Open the link of the agent's question again.`];
  if (error instanceof SignInFailed) return ['You are not signed in', `${error.message}. To try again, open the link of the agent's question.`];
  return ['You are not signed in', status < 500 ? 'This address is not complete.' : 'This cannot be done now. Try again in a minute.'];
}

function send(reply: FastifyReply, status: number, title: string, text: string): FastifyReply {
  return reply
    .code(status)
    .headers(PAGE_HEADERS)
    .send(page(title, `<p>${escaped(text)}</p>`));
}
