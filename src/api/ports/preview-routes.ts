import type { FastifyReply, FastifyRequest } from 'fastify';
import { failure, isFailure } from '../../contracts/errors.ts';
import { asTenant } from '../../store/database/tenant-scope.ts';
import type { PreviewLink } from '../../store/service/preview-links.ts';
import { escaped, page, TOLD_HEADERS } from '../approvals/html.ts';
import { leastOf } from '../auth/limits-of-caller.ts';
import { problemOf, retryOf } from '../http/problem.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { isUpgrade } from '../http/upgrades.ts';
import { targetOf } from '../sandbox/target-of.ts';
import { forward } from './forward.ts';
import { cookieOf } from './guest-cookies.ts';
import { hostPlace, pathPlace, READ_BY_ALL, type Place } from './place.ts';
import { METHODS, takeAnyBody } from './port-routes.ts';
import { OPEN_PATH, PREVIEW_PATH, previewLinkOf } from './preview-links.ts';
import { INNER_PATH, type PreviewSite } from '../http/preview-site.ts';

const OPEN = { config: { scope: 'none', streamsBody: true }, schema: { hide: true } } as const;
const COOKIE = '__Host-longshore-preview';

/** The servers of sandboxes, for browsers with a link: on hosts of their own, or below a path of the service. */
export function addPreviewRoutes(api: Api, parts: RouteParts): void {
  void api.register(async (scope) => {
    takeAnyBody(scope as unknown as Api);
    scope.setErrorHandler((error, request, reply) => {
      const { problem, isOurs } = problemOf(error, request);
      if (isOurs) request.log.error({ err: error, request: request.id }, 'a request failed');
      return reply
        .code(problem.status)
        .headers({ ...TOLD_HEADERS, ...retryOf(problem), 'x-longshore-error': problem.code })
        .send(
          page(
            isFailure(error, 'LINK_ENDED') ? 'This link does not work any more' : 'The preview cannot be shown',
            `<p>${escaped(problem.detail.replace(/\.?$/, '.'))}</p>`,
          ),
        );
    });
    const { previews } = parts;
    if (previews) scope.route({ ...OPEN, method: METHODS, url: `${INNER_PATH}/*`, handler: (request, reply) => answerOnHost(parts, previews, request, reply) });
    else scope.route({ ...OPEN, method: METHODS, url: `${PREVIEW_PATH}:token/*`, handler: (request, reply) => answerBelowPath(parts, request, reply) });
  });
}

async function answerBelowPath(parts: RouteParts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { token } = request.params as { token: string };
  const prefix = PREVIEW_PATH + token;
  const url = request.raw.url ?? '';
  // An encoded token would leave another prefix.
  if (!url.startsWith(`${prefix}/`)) throw failure('LINK_ENDED', { problem: 'is not valid, or has ended' });
  const link = await followLink(parts, token, request);
  if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined) return reply.code(204).headers(READ_BY_ALL).send();
  const place = pathPlace(prefix, { isSecure: parts.addressOf(request).startsWith('https:'), isSecret: true });
  return show(parts, link, { path: url.slice(prefix.length), place }, request, reply);
}

async function answerOnHost(parts: RouteParts, site: PreviewSite, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { host, cookie } = request.headers;
  const path = request.originalUrl;
  if (!site.has(host)) throw failure('ROUTE_NOT_FOUND', { method: request.method, path: INNER_PATH });
  const opened = path.startsWith(OPEN_PATH) && request.method === 'GET' ? path.slice(OPEN_PATH.length).replace(/[?/].*$/, '') : undefined;
  const token = opened ?? cookieOf(cookie, COOKIE) ?? '';
  const link = await followLink(parts, token, request);
  if (!site.isOf(host, link.conversationId, link.port)) throw failure('LINK_ENDED', { problem: 'is not valid, or has ended' });
  if (opened !== undefined) return open(link, token, reply);
  const origin = site.originOf(link.conversationId, link.port);
  requireOwn(request, origin);
  return show(parts, link, { path, place: hostPlace(origin) }, request, reply);
}

/** Finds the link. The request is one without any scope, within the limits of the key that made the link. @throws LINK_ENDED, LIMIT_REACHED */
async function followLink({ store, limit }: RouteParts, token: string, request: FastifyRequest): Promise<PreviewLink> {
  const link = await previewLinkOf(store, token);
  const { linkId, keyId, tenantId } = link;
  request.caller = { keyId, actor: { kind: 'link', id: linkId }, tenantId, scopes: new Set() };
  await limit(request);
  return link;
}

/** The link becomes a cookie of this host alone, which lasts as long. In a frame, it is kept apart for each site that shows it. */
function open({ expiresAt }: PreviewLink, token: string, reply: FastifyReply): FastifyReply {
  const seconds = Math.max(0, Math.floor((expiresAt.getTime() - Date.now()) / 1000));
  return reply
    .code(303)
    .headers({
      'set-cookie': `${COOKIE}=${token}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=None; Partitioned`,
      'referrer-policy': 'no-referrer',
      location: '/',
    })
    .send();
}

/** The cookie comes with whatever a browser sends to this host. Only its own pages may ask for more than to be shown. @throws PREVIEW_FOREIGN */
function requireOwn({ method, headers, raw }: FastifyRequest, origin: string): void {
  const { origin: given, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers;
  const isNavigation = mode === undefined ? given === undefined : mode === 'navigate';
  const isShown = (method === 'GET' || method === 'HEAD') && !isUpgrade(raw) && isNavigation;
  const isOwn = (given === undefined || given === origin) && (site === undefined || site === 'same-origin' || site === 'none');
  if (!isOwn && !isShown) throw failure('PREVIEW_FOREIGN', { origin: given ?? 'of another site' });
}

async function show(
  { store, hosts, streams, idleMs, times, closing }: RouteParts,
  { keyId, tenantId, conversationId, port }: PreviewLink,
  { path, place }: { path: string; place: Place },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const target = await asTenant(tenantId, () => targetOf(store, request.caller, conversationId));
  const forwarded = { target, port, path, place, idleMs, stalledMs: times.stalledMs, closing };
  await streams.wait(keyId, () => forward(hosts, forwarded, request, reply), leastOf(request.held, 'streams'));
  return reply;
}
