import type { ServerResponse } from 'node:http';
import { connect } from '../../../src/client.ts';
import { startProvider, type SeenRequest } from '../../models/provider-server.ts';

export type Answer = (response: ServerResponse, request: SeenRequest) => void;

/** A service that gives one answer after the other, then the last one again and again, and a client of it. */
export async function answering(answers: Answer[], last: Answer) {
  const service = await startProvider((response, request) => (answers.shift() ?? last)(response, request));
  const longshore = await connect({ url: service.url, apiKey: 'lsk_test' });
  return {
    longshore,
    service,
    async [Symbol.asyncDispose]() {
      await longshore[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}
