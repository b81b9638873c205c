import { pino } from 'pino';
import { createApi } from '../../src/api/create-api.ts';
import type { Api } from '../../src/api/http/route-parts.ts';
import { UNUSED_CLIENT } from '../../scripts/derived/http-document.ts';

let api: Api;
let url: string;
beforeAll(async () => {
  api = await createApi({ client: UNUSED_CLIENT, log: pino({ level: 'silent' }), version: '0.0.0', stopping: new AbortController().signal });
  url = await api.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => api.close());

test('/docs and all that it loads come from the service, and its policy lets the browser ask no other host', async () => {
  const page = await fetch(`${url}/docs`);
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const policy = page.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'; script-src 'self';");
  expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe/);
  const links = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link);
  expect(links).toEqual(['data:,', 'docs/swagger-ui.css', 'openapi.json', 'docs/swagger-ui-bundle.js', 'docs/docs.js']);
  for (const link of links.slice(1)) {
    const answer = await fetch(`${url}/${link}`);
    const body = await answer.text();
    expect([link, answer.status, answer.headers.get('x-content-type-options')]).toEqual([link, 200, 'nosniff']);
    // The images of the style sheet are in it; the script of the page is held by the policy.
    const withoutImages = body.replaceAll(/url\("data:[^"]*(?:\\"[^"]*)*"\)|url\(data:[^)]*\)/g, '');
    if (link === 'docs/docs.js' || link.endsWith('.css')) expect([link, withoutImages.match(/@import|url\([^)]*|https?:\/\/[^\s"')]*/g)]).toEqual([link, null]);
  }
});
