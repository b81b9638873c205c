import { z } from 'zod';
import type { EgressRule } from '../../contracts/agent.ts';
import { oddityOfHost } from '../../network/address-policy.ts';

/** These headers frame the request or choose the server, so an agent must not set them. */
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

const rule = z.strictObject({
  host: host.describe('Host name, *.domain for all names below it, or an address.'),
  ports: z.array(z.int().min(1).max(65_535)).min(1).optional().describe('Default 80 and 443; only 443 where headers are added.'),
  headers: headers
    .optional()
    .describe('Set on requests to this host by the worker, outside the sandbox. ${env.NAME} is read when it is needed, and kept nowhere.'),
  cleartext: z
    .boolean()
    .optional()
    .describe('Whether headers are also added to requests without TLS, which anyone on the network path can read. Default false: such requests are refused.'),
  raw: z
    .boolean()
    .optional()
    .describe('Whether connections to these ports may use protocols other than HTTP and TLS (ssh, databases); nothing in them is checked. Default false.'),
});

/** The hosts that a sandbox may reach. */
export const egressSchema = z.array(
  z.union([
    host,
    rule
      .refine(({ raw, ports }) => raw !== true || ports !== undefined, { path: ['raw'], message: 'needs "ports", such as [22]: all other ports stay checked' })
      .refine(({ raw, headers: added }) => raw !== true || added === undefined, {
        path: ['raw'],
        message: 'and "headers" exclude each other: headers are added to HTTP only. Write two rules with different ports',
      })
      .refine(({ cleartext, headers: added }) => cleartext !== true || Object.keys(added ?? {}).length > 0, {
        path: ['cleartext'],
        message: 'applies only to rules with "headers", and this rule has none. Requests without TLS are allowed without it',
      })
      .transform((given) => Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as unknown as EgressRule),
  ]),
);
