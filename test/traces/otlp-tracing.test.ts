import { pino } from 'pino';
import { loadConfig } from '../../src/platform/config.ts';
import { openTracing } from '../../src/traces/open-tracing.ts';
import { createOtlpTracing } from '../../src/traces/otlp-tracing.ts';
import { startCollector } from './collector.ts';
import { spanIdOf, turnPlace } from '../../src/traces/trace-ids.ts';

test('the trace of a turn follows from its id alone, in the form of W3C Trace Context', () => {
  expect(turnPlace('turn_1')).toEqual({ traceId: 'ff8de8c32f33003362b044d46115632a', spanId: 'd767cef15b43857e' });
  expect(turnPlace('turn_2').traceId).not.toBe(turnPlace('turn_1').traceId);
  expect(spanIdOf('a', 'b')).not.toBe(spanIdOf('ab'));
});

test('nothing is traced without an address, and an address that is none stops the start', async () => {
  expect(await openTracing(loadConfig({}), { service: 'test', log: pino({ level: 'silent' }) })).toBeUndefined();
  expect(() => loadConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' })).toThrow(
    'OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" is not usable (write an address such as http://127.0.0.1:4318)',
  );
  expect(() => loadConfig({ LONGSHORE_TRACE_RATIO: '2' })).toThrow('LONGSHORE_TRACE_RATIO');
});

const turn = (turnId: string) => ({ ...turnPlace(turnId), name: 'invoke_agent a', kind: 'internal' as const, startMs: 1, endMs: 2, attributes: {} });

test('a part of the turns can be traced: which ones, follows from their ids', async () => {
  await using collector = await startCollector();
  const turns = Array.from({ length: 200 }, (_, index) => `turn_${index}`);
  const sent = async () => {
    await using tracing = createOtlpTracing({ endpoint: collector.url, ratio: 0.5, service: 'test', log: pino({ level: 'silent' }) });
    for (const turnId of turns) tracing.record(turn(turnId));
  };
  await sent();
  const once = collector.spans().map(({ traceId }) => traceId);
  expect(once.length).toBeGreaterThan(60);
  expect(once.length).toBeLessThan(140);
  await sent();
  expect(
    collector
      .spans()
      .map(({ traceId }) => traceId)
      .slice(once.length),
  ).toEqual(once);
});

test('a collector that is away is logged, and delays the end by its time limit at most', async () => {
  process.env['OTEL_EXPORTER_OTLP_TIMEOUT'] = '200';
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const tracing = createOtlpTracing({ endpoint: 'http://127.0.0.1:9', ratio: 1, service: 'test', log });
  tracing.record(turn('turn_1'));
  const started = Date.now();
  await tracing[Symbol.asyncDispose]();
  expect(Date.now() - started).toBeLessThan(8_000);
  delete process.env['OTEL_EXPORTER_OTLP_TIMEOUT'];
  expect(lines.join()).toMatch(/ECONNREFUSED.*the last traces were not sent/);
});
