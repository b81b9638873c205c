import type { Client, RequestOptions } from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { JsonObject } from '../../../../contracts/json.ts';
import { MAX_QUESTION_MS } from '../../../../contracts/questions/question.ts';
import { cutMiddle } from '../../../../contracts/visible-text.ts';
import type { ServerRequest } from '../../../../sandbox/api/host-methods.ts';
import type { ToolContext } from '../../../api/define-plugin.ts';
import { MAX_PAGES, MORE_PAGES, type ListedTools } from '../offers/listed-tools.ts';
import type { KeptRounds } from './rounds.ts';

/** What differs between the generations of the protocol, once a connection is made. */
export interface Talk {
  list(): Promise<Omit<ListedTools, 'version'>>;
  call(request: ServerRequest, options: CallOptions): Promise<JsonObject>;
}

export interface CallOptions {
  /** Asks the person behind the call's conversation. Absent: no person can be asked. */
  askPerson?: ToolContext['askPerson'];
  /** Absent: the model cannot be asked. */
  model?: ToolContext['model'];
  /** Absent: no other worker can go on with the request. */
  rounds?: KeptRounds;
  signal: AbortSignal;
  timeoutMs: number;
  onProgress?: (line: string) => void;
}

export const ANY_RESULT = z.looseObject({});
const TOOLS = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });
const LATE_MS = 10_000;

export async function listTools(client: Client): Promise<unknown[]> {
  const tools: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { tools: more, nextCursor } = await client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, TOOLS);
    tools.push(...more);
    if (nextCursor === undefined || nextCursor === cursor) return tools;
    cursor = nextCursor;
  }
  return [...tools, MORE_PAGES];
}

export function optionsOf({ signal, timeoutMs, onProgress }: CallOptions): RequestOptions {
  const onprogress = ({ progress, total, message }: { progress: number; total?: number | undefined; message?: string | undefined }) =>
    onProgress?.(cutMiddle(message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`), 200));
  // The caller ends the call in time; this limit applies when its signal never comes. The time in which a person is asked does not count.
  return { signal, timeout: timeoutMs + LATE_MS + MAX_QUESTION_MS, ...(onProgress && { onprogress }) };
}
