import * as fc from 'fast-check';
import { ERRORS } from '../../../src/contracts/error-table/error-rows.ts';
import type { ServedInstallation } from '../support.ts';
import { createAnswerCheck, documentOf, routesOf, type AnswerCheck, type Route } from './document.ts';
import { malformed, sendRaw, type RawAnswer, type RawRequest } from './malformed.ts';

/** What no caller should see: places of files, stacks, statements and names of the database. */
const INSIDE = /node_modules|\/src\/|\.[jt]s:\d|\n\s+at |SELECT |INSERT |UPDATE |relation "|pg_|syntax error at|ECONN|postgres(ql)?:\/\//gi;
/** Refusals before any route has seen the request. */
const BEFORE_ROUTES = new Set(['ROUTE_NOT_FOUND', 'REQUEST_TIMEOUT', 'HEADERS_TOO_LARGE']);
const AT_ONCE = 8;

/** Sends so many malformed requests to each route. Gives what was wrong with the answers. */
export async function sendMalformed({ installation, service }: ServedInstallation, perRoute: number): Promise<{ sent: number; wrong: string[] }> {
  const document = documentOf(service.api);
  const fits = createAnswerCheck(document);
  const { authorization } = await service.key(['admin']);
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Ahoy.' });
  await installation.longshore.reply(chat);
  await installation.longshore.close(chat);
  const base = { names: { id: chat.id }, fields: { agent: 'scripted' }, authorization };
  const wrong: string[] = [];
  let sent = 0;
  for (const route of routesOf(document)) {
    const requests = fc.sample(malformed({ ...base, route }), perRoute);
    const next = requests.values();
    const sendAll = async () => {
      for (const request of next) {
        const answer = await sendRaw(service.url, route, request);
        const problem = problemWith(route, answer, fits) ?? inside(request, answer);
        sent += 1;
        if (problem !== undefined)
          wrong.push(`${problem}: ${route.method} ${JSON.stringify(request).slice(0, 400)} → ${answer.status} ${answer.text.slice(0, 400)}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sendAll));
  }
  return { sent, wrong };
}

function problemWith(route: Route, { status, mediaType, text }: RawAnswer, fits: AnswerCheck): string | undefined {
  if (status === 0) return 'no answer';
  if (status >= 500) return 'a fault of the service';
  if (mediaType === 'text/event-stream') return undefined;
  if (status < 400) return fits(route, { status, mediaType, text });
  // Routes of other protocols refuse as these do, which the document says.
  if (mediaType !== 'application/problem+json') return fits(route, { status, mediaType, text });
  const { code, values } = JSON.parse(text) as { code: string; values: Record<string, unknown> };
  if (!Object.hasOwn(ERRORS, code)) return 'an unknown code';
  return BEFORE_ROUTES.has(code) || values['what'] === 'request' ? undefined : fits(route, { status, mediaType, text });
}

/** What the caller has sent may come back to it: random text is sometimes like what is looked for. */
function inside(request: RawRequest, { status, mediaType, text }: RawAnswer): string | undefined {
  if (status < 400 || mediaType === 'text/event-stream') return undefined;
  const sent = JSON.stringify(request);
  return [...text.matchAll(INSIDE)].some(([shown]) => !sent.includes(shown)) ? 'the inside shows' : undefined;
}
