import { z } from 'zod';
import { oddityOfHost } from '../network/address-policy.ts';

/** They frame the request or choose the server, so they are not an agent's to set. */
const REFUSED_HEADERS = /^(host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|content-length|proxy-.*)$/i;

const host = z
  .string()
  .refine(
    (name) => oddityOfHost(name.replace(/^\*\./, '')) === undefined,
    'has to be a plain lower-case host name, *.domain, or an address; ports go into "ports"',
  );

const headers = z.record(
  z
    .string()
    .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'is not the name of a header')
    .refine((name) => !REFUSED_HEADERS.test(name), 'cannot be set'),
  z.string().regex(/^[^\r\n\0]*$/, 'has to be one line'),
);

/** The hosts that a sandbox may reach. */
export const egressSchema = z.array(
  z.union([
    host,
    z
      .strictObject({
        host: host.describe('Host name, *.domain for all names below it, or an address.'),
        ports: z.array(z.int().min(1).max(65_535)).min(1).optional().describe('Default 80 and 443; only 443 where headers are added.'),
        headers: headers
          .optional()
          .describe('Set on requests to this host by the worker, outside the sandbox. ${env.NAME} is read when it is needed, and kept nowhere.'),
      })
      .transform(({ ports, ...rule }) => ({ host: rule.host, ...(ports && { ports }), ...(rule.headers && { headers: rule.headers }) })),
  ]),
);
