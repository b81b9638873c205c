import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { EndedRequest } from '../http/access-log.ts';

/** Figures of one process of the service. */
export interface ApiMetrics {
  readonly contentType: string;
  ended(this: void, request: EndedRequest): void;
  /** In the format of Prometheus. */
  render(): Promise<string>;
}

const SECONDS = [0.005, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100];
/** Methods are what callers send: only those of routes are labels. */
const NO_ROUTE = { route: 'none', method: 'any' };
/** No caller is sent this status. */
const LEFT = '499';

/** No label has a tenant, a key or an id: there are few different values. */
export function createApiMetrics({ openStreams }: { openStreams: () => number }): ApiMetrics {
  const registers = [new Registry()];
  const labelNames = ['route', 'method', 'status'] as const;
  const requests = new Counter({
    name: 'longshore_api_requests_total',
    help: 'Requests whose answer or connection has ended; status 499: the connection ended before the answer began',
    labelNames,
    registers,
  });
  const seconds = new Histogram({
    name: 'longshore_api_request_seconds',
    help: 'Time until a request was answered, without streams and WebSockets',
    labelNames: ['route', 'method'] as const,
    buckets: SECONDS,
    registers,
  });
  const streams = new Gauge({ name: 'longshore_api_open_streams', help: 'Streams of events that are open at this process', registers });
  const [registry] = registers as [Registry];
  return {
    contentType: registry.contentType,
    ended({ route, method, status, ms, isStream }) {
      const place = route === undefined ? NO_ROUTE : { route, method };
      requests.inc({ ...place, status: status ?? LEFT });
      if (status !== undefined && !isStream) seconds.observe(place, ms / 1000);
    },
    render() {
      streams.set(openStreams());
      return registry.metrics();
    },
  };
}
