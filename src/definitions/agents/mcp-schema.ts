import { z } from 'zod';
import { duration } from '../../common/duration.ts';
import { LONGEST_TIMER_MS } from '../../common/longest-timer.ts';

const texts = z.record(z.string(), z.string()).default({});
const limit = duration
  .refine((milliseconds) => milliseconds > 0, 'has to be above 0')
  .refine((milliseconds) => milliseconds <= LONGEST_TIMER_MS, 'is longer than a call can take; give at most 24d');
const callLimits = {
  timeout: limit.default(120_000).describe('Time limit of a call. Default 2m.'),
  timeouts: z.record(z.string(), limit).optional().describe('Time limits of calls of single tools, by the names that the server gives them.'),
};
const registered = {
  clientId: z
    .string()
    .min(1)
    .optional()
    .describe('Id of the client that you have registered at the authorization server; ${env.NAME} is filled in here and below.'),
  clientSecret: z.string().min(1).optional().describe('Its secret.'),
  issuer: z.string().min(1).optional().describe('The only authorization server that is accepted, as it names itself.'),
  scope: z.string().min(1).optional().describe('What is asked for where the server does not say what a request needs.'),
};
const mcpOAuth = z
  .union([
    z.literal('user'),
    z
      .strictObject({ as: z.literal('user'), ...registered })
      .refine(({ clientId, clientSecret, issuer }) => clientSecret === undefined || (clientId !== undefined && issuer !== undefined), {
        path: ['clientSecret'],
        message: 'needs clientId and issuer, so that it goes to no other server',
      }),
    z
      .strictObject({
        as: z.literal('worker'),
        ...registered,
        clientId: z.string().min(1),
        issuer: z.string().min(1),
        privateKey: z.string().min(1).optional().describe('A key in place of a secret: PKCS#8 in PEM.'),
        algorithm: z.string().min(1).optional().describe('With a key: what it signs with, such as ES256.'),
      })
      .refine(({ clientSecret, privateKey, algorithm }) => (clientSecret === undefined) === (privateKey !== undefined && algorithm !== undefined), {
        path: ['clientSecret'],
        message: 'has to be there, or privateKey and algorithm in its place',
      }),
  ])
  .describe('user: each user signs in. worker: the worker has credentials of its own (client credentials).');
const sampling = z
  .enum(['ask', 'allow'])
  .optional()
  .describe('Lets the server ask the model of the agent during its calls, within the budget. ask: a person allows each request. Default: it may not.');
/** A server of the Model Context Protocol. */
export const mcpServer = z.union([
  z.strictObject({
    command: z.string().min(1).describe('Program that speaks MCP over its stdin and stdout.'),
    args: z.array(z.string()).default([]),
    env: texts.describe('Its environment; ${env.NAME} is filled in when it is started.'),
    where: z
      .enum(['host', 'sandbox'])
      .describe("host: once, beside the worker, if LONGSHORE_HOST_PLUGINS names mcp:<name>. sandbox: in each conversation's sandbox, as its user."),
    directory: z.string().min(1).optional().describe('Directory that it runs in: relative to this file, or of the sandbox (default its home).'),
    sampling,
    ...callLimits,
  }),
  z
    .strictObject({
      url: z.string().min(1).describe('Address of a server that speaks MCP over streamable HTTP.'),
      headers: texts.describe('Sent with each request; ${env.NAME} is filled in when it is connected to.'),
      sampling,
      oauth: mcpOAuth.optional(),
      ...callLimits,
    })
    .refine(({ headers, oauth }) => !oauth || !Object.keys(headers).some((name) => name.toLowerCase() === 'authorization'), {
      path: ['headers'],
      message: 'cannot have authorization beside oauth, which sets it',
    }),
]);
