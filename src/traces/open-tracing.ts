import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/log.ts';
import type { Tracing } from './tracing.ts';

/** Opens tracing when an endpoint is set. Without one, nothing of OpenTelemetry is loaded. */
export async function openTracing(
  config: Pick<Config, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'LONGSHORE_TRACE_RATIO'>,
  options: { service: string; log: Logger },
): Promise<Tracing | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, LONGSHORE_TRACE_RATIO: ratio } = config;
  if (endpoint === undefined) return undefined;
  const { createOtlpTracing } = await import('./otlp-tracing.ts');
  return createOtlpTracing({ ...options, endpoint, ratio });
}
