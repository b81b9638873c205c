import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Api } from '../http/route-parts.ts';

const OPEN = { scope: 'none' } as const;
/** The page loads nothing from other hosts, and this policy forbids it. Swagger UI writes styles into its elements. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const OURS = join(import.meta.dirname, 'page');
/** The package is used for its files alone: swagger-ui-dist, of which they are, reports installations to its makers. */
const THEIRS = join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui')), 'static');

const FILES = [
  { url: '/docs', file: join(OURS, 'docs.html'), type: 'text/html; charset=utf-8' },
  { url: '/docs/docs.js', file: join(OURS, 'docs.js'), type: 'text/javascript; charset=utf-8' },
  { url: '/docs/swagger-ui-bundle.js', file: join(THEIRS, 'swagger-ui-bundle.js'), type: 'text/javascript; charset=utf-8' },
  { url: '/docs/swagger-ui.css', file: join(THEIRS, 'swagger-ui.css'), type: 'text/css; charset=utf-8' },
];

/** A page that shows the OpenAPI document to people. */
export function addDocsPage(api: Api): void {
  for (const { url, file, type } of FILES) {
    api.get(url, { config: OPEN, schema: { hide: true } }, async (_request, reply) =>
      reply
        .type(type)
        .header('content-security-policy', POLICY)
        .serializer(String)
        .send(await readFile(file, 'utf8')),
    );
  }
}
