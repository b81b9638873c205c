import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** One request that was answered. */
export interface AnsweredRequest {
  /** As the OpenAPI document has it, `/v1/conversations/:id`; `none` where there is no such route. */
  route: string;
  method: string;
  status: number;
  seconds: number;
  /** A stream of events, whose length says nothing about the service. */
  isStream: boolean;
}

/** Figures of one process of the service. */
export interface ApiMetrics {
  readonly contentType: string;
  answered(request: AnsweredRequest): void;
  /** In the format of Prometheus. */
  render(): Promise<string>;
}

const SECONDS = [0.005, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100];

/** No label has a tenant, a key or an id: there are few different values. */
export function createApiMetrics({ openStreams }: { openStreams: () => number }): ApiMetrics {
  const registers = [new Registry()];
  const labelNames = ['route', 'method', 'status'] as const;
  const requests = new Counter({ name: 'longshore_api_requests_total', help: 'Requests that this process has answered', labelNames, registers });
  const seconds = new Histogram({
    name: 'longshore_api_request_seconds',
    help: 'Time until a request was answered, without streams',
    labelNames: ['route', 'method'] as const,
    buckets: SECONDS,
    registers,
  });
  const streams = new Gauge({ name: 'longshore_api_open_streams', help: 'Streams of events that are open at this process', registers });
  const [registry] = registers as [Registry];
  return {
    contentType: registry.contentType,
    answered({ route, method, status, seconds: took, isStream }) {
      requests.inc({ route, method, status });
      if (!isStream) seconds.observe({ route, method }, took);
    },
    render() {
      streams.set(openStreams());
      return registry.metrics();
    },
  };
}
