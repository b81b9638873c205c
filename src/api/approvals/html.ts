import { createHash } from 'node:crypto';

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}' +
  'pre{background:#f4f4f4;padding:1rem;white-space:pre-wrap;overflow-wrap:anywhere;border-radius:4px}' +
  'button{font:inherit;padding:.5rem 1.2rem;margin-right:1rem;border:1px solid #888;border-radius:4px;cursor:pointer}small{color:#666}';

const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; form-action 'self'; base-uri 'none'`;

/** For pages that only tell something: another page may show them in a frame. Nothing runs, nothing is loaded, and the address, which has the secret, is told to no other page. */
export const TOLD_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
};

/** For pages with buttons: no other page may show them. */
export const PAGE_HEADERS = {
  ...TOLD_HEADERS,
  'content-security-policy': `${POLICY}; frame-ancestors 'none'`,
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
};

/** A page of trusted HTML; `title` is plain text. */
export function page(title: string, body: string): string {
  return (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">' +
    `<title>${escaped(title)}</title><style>${STYLE}</style></head><body><h1>${escaped(title)}</h1>${body}</body></html>\n`
  );
}

/** Text as HTML, in elements and in quoted attributes. */
export function escaped(text: string): string {
  return text.replaceAll(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}
