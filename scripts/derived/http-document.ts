import { pino } from 'pino';
import { createApi } from '../../src/api/create-api.ts';
import type { Document } from '../../src/api/description/document.ts';
import type { ClientParts } from '../../src/client/create-longshore.ts';

/** Stands for what routes are made with and use only when a request comes. */
const UNUSED: unknown = new Proxy(function unused() {}, {
  get: (_, name) => (name === 'then' || typeof name === 'symbol' ? undefined : UNUSED),
  apply: () => UNUSED,
  construct: () => UNUSED as object,
});

/** Connections of a service that is not asked for anything but its description. */
export const UNUSED_CLIENT = { temporal: UNUSED, agents: UNUSED, store: UNUSED } as ClientParts;

/** The OpenAPI document of the service, without a database or a server. */
export async function httpDocument(): Promise<Document> {
  const api = await createApi({ client: UNUSED_CLIENT, log: pino({ level: 'silent' }), version: '0.0.0', stopping: new AbortController().signal });
  try {
    return api.swagger() as unknown as Document;
  } finally {
    await api.close();
  }
}
