import { z } from 'zod';
import { id, jsonValue, name, read, readOptions, signal } from '../../common/arguments.ts';
import { MAX_LEASE_MS } from '../../contracts/client-tool.ts';
import type { ClaimOptions, ClientToolHandler, ResultOptions, ServeToolsOptions } from './client-tool-types.ts';

const LEASE = `give 0 to ${MAX_LEASE_MS} milliseconds`;
const claim = z.strictObject({ callId: name, holder: id, leaseMs: z.number().min(0, LEASE).max(MAX_LEASE_MS, LEASE).optional() });
const result = z.strictObject({ callId: name, result: jsonValue, isError: z.boolean().optional(), holder: id.optional() });
const handler = z.custom<ClientToolHandler>((value) => typeof value === 'function', { error: 'it is no function', params: { fix: 'Give a function' } });
const handlers = z.record(z.string(), handler);

export const resultOptions = (given: unknown) => readOptions('options of giveResult', result, given) as ResultOptions;
export const claimOptions = (given: unknown) => readOptions('options of claimCall', claim, given) as ClaimOptions;
export const serveOptions = (given: unknown) => readOptions('options of tools', z.strictObject({ signal: signal.optional() }), given) as ServeToolsOptions;

export function handlersOf(given: unknown): Map<string, ClientToolHandler> {
  return new Map(Object.entries(read('tools', handlers, given)));
}
