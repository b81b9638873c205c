import { diag, DiagLogLevel, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import { inTime } from '../common/in-time.ts';
import { ownVersion } from '../platform/own-version.ts';
import type { Logger } from '../platform/log.ts';
import type { SpanPlace } from './trace-ids.ts';
import type { Tracing } from './tracing.ts';

export interface OtlpOptions {
  /** Base address of a collector; `/v1/traces` is added. */
  endpoint: string;
  /** The part of the traces that is sent, 0 to 1. All spans of a trace are sent, or none. */
  ratio: number;
  service: string;
  log: Logger;
}

const KINDS = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT, server: SpanKind.SERVER } as const;
/** A collector that does not answer delays the end by so much at most. Its own time limit (OTEL_EXPORTER_OTLP_TIMEOUT, 10 s) may keep the process for longer. */
const LAST_FLUSH_MS = 5_000;

/** Sends spans to a collector in batches, as OTLP over HTTP. Headers, timeouts and compression are read from the variables of OpenTelemetry. */
export function createOtlpTracing({ endpoint, ratio, service, log }: OtlpOptions): Tracing {
  diag.setLogger(silentBut(log), DiagLogLevel.ERROR);
  let next: SpanPlace = { traceId: '', spanId: '' };
  const resource = resourceFromAttributes({ 'service.name': service, 'service.version': ownVersion() }).merge(detectResources({ detectors: [envDetector] }));
  const provider = new TracerProvider({
    resource,
    // By the id of the trace, which each process derives: so all decide alike.
    sampler: new TraceIdRatioBasedSampler(ratio),
    idGenerator: { generateTraceId: () => next.traceId, generateSpanId: () => next.spanId },
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` }) })],
  });
  const tracer = provider.getTracer('longshore', ownVersion());
  return {
    record({ traceId, spanId, parentSpanId, name, kind, links = [], startMs, endMs, attributes, errorType }) {
      // The generator is asked while the span starts, and nothing else can run in between.
      next = { traceId, spanId };
      const parent = parentSpanId === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, contextOf({ traceId, spanId: parentSpanId }));
      const options = { kind: KINDS[kind], startTime: startMs, attributes, links: links.map((place) => ({ context: contextOf(place) })) };
      const span = tracer.startSpan(name, options, parent);
      if (errorType !== undefined) span.setAttribute('error.type', errorType).setStatus({ code: SpanStatusCode.ERROR });
      span.end(Math.max(startMs, endMs));
    },
    async [Symbol.asyncDispose]() {
      await inTime(provider.shutdown(), LAST_FLUSH_MS, () => new Error('the collector does not answer')).catch((error: unknown) =>
        log.warn({ err: error }, 'the last traces were not sent'),
      );
      diag.disable();
    },
  };
}

function contextOf(place: SpanPlace) {
  return { ...place, traceFlags: TraceFlags.SAMPLED, isRemote: true };
}

function silentBut(log: Logger) {
  const nothing = () => undefined;
  const error = (message: string) => log.warn({ problem: message.slice(0, 1000) }, 'traces were not sent');
  return { error, warn: nothing, info: nothing, debug: nothing, verbose: nothing };
}
