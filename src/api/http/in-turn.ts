import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { forAllTenants } from '../../store/database/tenant-scope.ts';
import { LATE_BODY_MS, PIPELINED } from './limits.ts';
import type { Places } from './places.ts';

type Exchange = [request: IncomingMessage, response: ServerResponse];

/**
 * Gives the requests of each connection to `handle` one after the other. Otherwise, those that are sent without waiting would all be answered at the same time,
 * and answers that wait for the connection would not learn that it has been closed.
 */
export function inTurn(handle: RequestListener, places: Places): RequestListener {
  /** Of connections with a request: those that wait for its answer. */
  const lines = new WeakMap<Socket, Exchange[]>();
  const answer = ([request, response]: Exchange, waiting: Exchange[]) => {
    const { socket } = request;
    response.once('close', () => {
      if (!request.complete) setTimeout(() => !request.complete && places.close(socket), LATE_BODY_MS).unref();
      if (!places.has(socket)) return;
      const next = waiting.shift();
      if (next) {
        answer(next, waiting);
        return;
      }
      lines.delete(socket);
      places.rest(socket);
    });
    // The one before it may have been of another tenant.
    forAllTenants(() => handle(request, response));
  };
  return (request, response) => {
    const { socket } = request;
    // It was closed while its last bytes were read.
    if (!places.has(socket)) return;
    const line = lines.get(socket);
    if (line) {
      if (line.length < PIPELINED) line.push([request, response]);
      else places.close(socket);
      return;
    }
    const waiting: Exchange[] = [];
    lines.set(socket, waiting);
    places.begin(socket);
    answer([request, response], waiting);
  };
}
