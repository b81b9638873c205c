import { propagation } from '@opentelemetry/api';
import { createHttpLink } from '../../src/client/http/http-link.ts';
import { startProvider } from '../models/provider-server.ts';

const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

test('a request names the trace of a program that has set up OpenTelemetry, and no other', async () => {
  await using service = await startProvider((response) => void response.end('{}'));
  const link = createHttpLink({ url: service.url, apiKey: 'lsk_test' });
  await link.json('/v1/agents');
  propagation.setGlobalPropagator({
    inject: (_context, carrier, setter) => setter.set(carrier, 'traceparent', TRACEPARENT),
    extract: (given) => given,
    fields: () => ['traceparent'],
  });
  try {
    await link.json('/v1/agents');
  } finally {
    propagation.disable();
  }
  expect(service.requests.map(({ headers }) => [headers.authorization, headers['traceparent']])).toEqual([
    ['Bearer lsk_test', undefined],
    ['Bearer lsk_test', TRACEPARENT],
  ]);
});
