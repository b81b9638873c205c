import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasSecret, readKeyText } from '../../client/key-text.ts';
import type { AuditSource } from '../../contracts/audit.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import type { ApprovalLink } from '../../store/service/approval-links.ts';
import { asTenant } from '../../store/database/tenant-scope.ts';
import type { Store } from '../../store/store.ts';
import { problemOf } from '../http/problem.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { approvalPage, fitsPage, type ShownCall } from './approval-page.ts';
import { escaped, page, PAGE_HEADERS } from './html.ts';

/** A form has a token and a decision. */
const FORM_BYTES = 1_000;
const OPEN = { config: { scope: 'none' }, schema: { hide: true } } as const;
const UNDECIDED = 'Nothing was decided';
const DECISIONS = ['allow-once', 'deny'] as const;
type Decision = (typeof DECISIONS)[number];
const DONE = { 'allow-once': 'The call is allowed', deny: 'The call is denied' };

/** Pages for people without a key. To open one changes nothing: programs open links before people do. The answer is a form that is sent from it. */
export function addApprovalPages(api: Api, parts: RouteParts): void {
  void api.register(async (pages) => {
    pages.removeAllContentTypeParsers();
    pages.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string', bodyLimit: FORM_BYTES }, async (_request: FastifyRequest, body: string) => new URLSearchParams(body)); // prettier-ignore
    pages.setErrorHandler((error, request, reply) => {
      const { problem, isOurs } = problemOf(error, request);
      if (isOurs) request.log.error({ err: error, request: request.id }, 'a request failed');
      return send(reply, problem.status, ...told(error, problem.status));
    });
    pages.get('/approve/:token', OPEN, async (request, reply) => {
      const { token } = request.params as { token: string };
      const link = await linkOf(parts.store, token);
      const call = await asTenant(link.tenantId, () => callOf(parts.store, link));
      return reply.headers(PAGE_HEADERS).send(approvalPage(call, token));
    });
    pages.post('/approve/:token', OPEN, async (request, reply) => {
      const { link, decision } = await formOf(parts.store, request);
      const turnId = await asTenant(link.tenantId, () => answer(parts, link, decision, request.id));
      request.ledTo = { conversationId: link.conversationId, turnId };
      return send(reply, 200, DONE[decision], 'You can close this page.');
    });
  });
}

/** What the form of a link's page says. @throws LINK_ENDED, INVALID_ARGUMENT */
async function formOf(store: Store, { body, params }: FastifyRequest): Promise<{ link: ApprovalLink; decision: Decision }> {
  const form = body instanceof URLSearchParams ? body : new URLSearchParams();
  const token = form.get('token');
  if (token === null || token !== (params as { token: string }).token) throw failure('LINK_ENDED', { problem: 'is not valid' });
  const decision = DECISIONS.find((one) => one === form.get('decision'));
  if (!decision) throw failure('INVALID_ARGUMENT', { what: 'decision', problem: 'it is none', fix: 'Go back, and use one of the buttons' });
  return { link: await linkOf(store, token), decision };
}

/** Takes the one use of the link and delivers the answer. Says to which turn. @throws what `told` explains */
async function answer({ store, longshoreBy }: RouteParts, link: ApprovalLink, decision: Decision, requestId: string): Promise<string> {
  const { linkId, conversationId, callId, hash } = link;
  const call = await callOf(store, link);
  if (decision !== 'deny' && !fitsPage(call.arguments)) throw failure('LINK_ENDED', { problem: 'cannot allow a call that its page does not show whole' });
  const by: AuditSource = { actor: { kind: 'link', id: linkId }, requestId };
  if (!(await store.approvalLinks.use(linkId, by))) throw failure('LINK_ENDED', { problem: 'was used already' });
  try {
    await longshoreBy(by).approve(conversationId, { callId, answer: decision, hash, by: `link ${linkId}` });
    return call.turnId;
  } catch (error) {
    // Nothing was answered: the person may try again.
    if (!isFailure(error) || error.retryable) await store.approvalLinks.release(linkId);
    throw error;
  }
}

/** The call as its page shows it. @throws LINK_ENDED */
async function callOf(store: Store, { conversationId, callId, hash, expiresAt }: ApprovalLink): Promise<ShownCall & { turnId: string }> {
  const [row, stored] = await Promise.all([store.conversations.get(conversationId), store.toolCalls.get(callId)]);
  const pending = row?.status.pendingApprovals.find((one) => one.callId === callId);
  if (!row || !stored || !pending) throw failure('LINK_ENDED', { problem: 'leads to a call that waits no more: it was answered, or its time is over' });
  if (stored.hash !== hash) throw failure('LINK_ENDED', { problem: 'leads to a call that was changed since' });
  return { turnId: stored.turnId, tool: stored.tool, arguments: stored.arguments, why: pending.why, agentId: row.agentId, expiresAt };
}

async function linkOf(store: Store, token: string): Promise<ApprovalLink> {
  const given = readKeyText(token, 'lsl');
  const link = given && (await store.approvalLinks.find(given.keyId));
  const isRight = hasSecret(given, link?.secretSha256);
  if (!link || !isRight) throw failure('LINK_ENDED', { problem: 'is not valid' });
  if (link.used) throw failure('LINK_ENDED', { problem: 'was used already' });
  if (link.expired) throw failure('LINK_ENDED', { problem: 'has expired' });
  if (link.keyEnded) throw failure('LINK_ENDED', { problem: 'was made with a key that was revoked or has expired' });
  return link;
}

/** Title and text for a person who has no account and no log. */
function told(error: unknown, status: number): [title: string, text: string] {
  if (isFailure(error, 'LINK_ENDED')) return ['This link does not work any more', `It ${String(error.values['problem'])}. Ask its sender for a new one.`];
  if (isFailure(error, 'APPROVAL_NOT_FOUND') || isFailure(error, 'APPROVAL_MISMATCH')) return [UNDECIDED, 'The call does not wait for an answer any more.'];
  return [UNDECIDED, status < 500 ? 'Go back, and use one of the buttons.' : 'This cannot be done now. Try again in a minute.'];
}

function send(reply: FastifyReply, status: number, title: string, text: string): FastifyReply {
  return reply
    .code(status)
    .headers(PAGE_HEADERS)
    .send(page(title, `<p>${escaped(text)}</p>`));
}
