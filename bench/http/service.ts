import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Scope } from '../../src/contracts/api-key.ts';
import type { Longshore } from '../../src/client.ts';
import { AGENTS, type BenchParts } from '../parts.ts';

/** A service in a process of its own. */
export interface Service extends AsyncDisposable {
  url: string;
  pid: number;
}

/** `longshore serve`. */
export function startService({ stack }: BenchParts): Promise<Service> {
  const program = join(import.meta.dirname, '../../src/cli/main.ts');
  return startProgram([program, 'serve', '--address', '127.0.0.1:0'], { ...stack.environment, LONGSHORE_AGENTS: AGENTS }, /Serving (\S+)\. /);
}

/** What `least-service.ts` says of itself. */
export function startLeastService({ stack }: BenchParts): Promise<Service> {
  return startProgram([join(import.meta.dirname, '../least-service.ts')], stack.environment, /(http:\S+)\n/);
}

/** Starts a program and waits for its address. */
async function startProgram(words: string[], env: NodeJS.ProcessEnv, address: RegExp): Promise<Service> {
  const child = spawn(process.execPath, [...process.execArgv, ...words], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const url = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const found = address.exec(said);
      if (found?.[1] !== undefined) resolve(found[1]);
    });
    child.once('exit', () => reject(new Error(`the service ended before it was ready: ${said}`)));
  });
  return {
    url,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

export type Ask = <Answer>(path: string, body?: object) => Promise<Answer>;

/** Requests with a key of the tenant `bench`; with a body, POST. */
export async function openClient(longshore: Longshore, { url }: Service): Promise<{ ask: Ask; authorization: string }> {
  const scopes: Scope[] = ['conversations:read', 'conversations:write'];
  const { text } = await longshore.keys.create({ name: 'bench', scopes, tenant: 'bench' });
  const authorization = `Bearer ${text}`;
  const ask: Ask = async (path, body) => {
    const init = body && { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(url + path, { headers: { authorization, ...(body && { 'content-type': 'application/json' }) }, ...init });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as never;
  };
  return { ask, authorization };
}
