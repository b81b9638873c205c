import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { ProtocolErrorCode, serializeMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client';
import { JSONRPCMessageSchema } from '@modelcontextprotocol/core';
import { inTimeOr } from '../../../../common/in-time.ts';
import type { McpProgram } from '../../../../contracts/mcp/server.ts';
import { excessOf } from '../../../../contracts/foreign-json.ts';
import { cutMiddle, visibleLine } from '../../../../contracts/visible-text.ts';
import { endWithWorker } from './end-with-worker.ts';
import { MessageRefused } from './message-refused.ts';
import { createLineReader } from '../../../../common/lines/line-reader.ts';

const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
const MAX_LAST_WORDS = 500;
/** Time for a server to end by itself, and again after SIGTERM. */
const PATIENCE_MS = 2_000;

/**
 * A program that communicates over its stdin and stdout. It leads a process group of its own, so that its end ends everything that it started: the command
 * that an agent names is often only the launcher of the server.
 */
export class ProgramTransport implements Transport {
  onclose?: Transport['onclose'];
  onerror?: Transport['onerror'];
  onmessage?: Transport['onmessage'];
  private readonly program: Omit<McpProgram, 'where' | 'timeoutMs'>;
  private child: ChildProcessWithoutNullStreams | undefined;
  private closed: Promise<unknown> = Promise.resolve();
  private delivered: Promise<void> = Promise.resolve();
  private said = '';
  private waiting = 0;
  private busySince = 0;
  private busyMs = 0;

  constructor(program: Omit<McpProgram, 'where' | 'timeoutMs'>) {
    this.program = program;
  }

  /** The end of what it wrote to its stderr. */
  lastWords(): string {
    return this.said.trim();
  }

  /**
   * Milliseconds in which it had nothing to read. A flood is measured by this time: a busy worker reads slowly, and what comes meanwhile waits in the pipe.
   */
  idleTime(): number {
    return (this.waiting > 0 ? this.busySince : performance.now()) - this.busyMs;
  }

  async start(): Promise<void> {
    const { command, args, env, directory } = this.program;
    const place = directory === undefined ? {} : { cwd: directory };
    const child = spawn(command, args, { ...place, env: { ...getDefaultEnvironment(), ...env }, stdio: 'pipe', detached: true });
    child.on('error', (error) => this.onerror?.(error));
    child.stdin.on('error', (error) => this.onerror?.(error));
    child.stderr.on('data', (chunk: Buffer) => (this.said = (this.said + chunk.toString()).slice(-MAX_LAST_WORDS)));
    child.stdout.on('data', createLineReader({ maxBytes: MAX_MESSAGE_BYTES, onLine: (line) => this.take(line), onTooLong: () => this.refuse() }));
    await once(child, 'spawn');
    this.child = child;
    this.closed = this.watchOver(child);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.child) throw new Error('the program has ended');
    if (!this.child.stdin.write(serializeMessage(message))) await Promise.race([once(this.child.stdin, 'drain'), this.closed]);
  }

  async close(): Promise<void> {
    this.child?.stdin.end();
    if (await this.isClosedSoon()) return;
    this.signal('SIGTERM');
    if (await this.isClosedSoon()) return;
    this.signal('SIGKILL');
    // A process that has left the group may hold the other ends.
    for (const stream of this.child?.stdio ?? []) stream?.destroy();
    await this.isClosedSoon();
  }

  private async watchOver(child: ChildProcessWithoutNullStreams): Promise<void> {
    const watch = child.pid === undefined ? undefined : endWithWorker(child.pid);
    await once(child, 'close');
    watch?.[Symbol.dispose]();
    this.signal('SIGKILL');
    this.child = undefined;
    this.onclose?.();
  }

  /** Delivers messages one after the other. Otherwise progress that arrives together with the answer is dropped, because its request has been removed. */
  private take(line: string): void {
    if (this.waiting === 0) this.busySince = performance.now();
    this.waiting += 1;
    this.delivered = this.delivered.then(() => this.deliver(line));
  }

  private async deliver(line: string): Promise<void> {
    try {
      const excess = excessOf(line);
      this.onmessage?.(excess === undefined ? JSONRPCMessageSchema.parse(JSON.parse(line)) : refused(line, excess));
    } catch (error) {
      this.onerror?.(error as Error);
      this.answerFor(line, error);
    }
    this.waiting -= 1;
    if (this.waiting === 0) this.busyMs += performance.now() - this.busySince;
  }

  /** An answer that is no JSON, such as one with NaN, ends its request, which would wait for it until its time limit. */
  private answerFor(line: string, error: unknown): void {
    if (!(error instanceof SyntaxError)) return;
    const id = idIn(line);
    if (id !== undefined) this.onmessage?.(errorFor(id, `its answer is not JSON: ${cutMiddle(visibleLine(error.message), 200)}`));
  }

  private refuse(): void {
    this.onerror?.(new MessageRefused(`is larger than ${MAX_MESSAGE_BYTES} bytes`));
  }

  private isClosedSoon(): Promise<boolean> {
    const closed = this.closed.then(() => true);
    return inTimeOr(closed, PATIENCE_MS, false);
  }

  /** Signals all of its group, in which no process may be left. */
  private signal(signal: NodeJS.Signals): void {
    try {
      if (this.child?.pid !== undefined) process.kill(-this.child.pid, signal);
    } catch {
      // The group has ended.
    }
  }
}

const VERSION = String.raw`(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?`;
const ID = String.raw`"id"\s*:\s*(\d{1,15})\s*`;
/** Where an answer has its id in practice: at the beginning or the end of its object. A request of the server has one as well, of its own. */
const ID_AT = [
  new RegExp(String.raw`^\s*\{\s*${VERSION}${ID},(?!\s*${VERSION}"method")`),
  new RegExp(String.raw`^\s*\{\s*${VERSION}"(?:result|error)"[^]*,\s*${ID}\}\s*$`),
];

/** An error response to the request whose answer is not parsed. */
function refused(line: string, excess: string): JSONRPCMessage {
  const id = idIn(line);
  if (id === undefined) throw new MessageRefused(excess);
  return errorFor(id, `its answer ${excess}`);
}

function idIn(line: string): number | undefined {
  const [id] = ID_AT.flatMap((pattern) => pattern.exec(`${line.slice(0, 100)}\n${line.slice(-100)}`)?.[1] ?? []);
  return id === undefined ? undefined : Number(id);
}

function errorFor(id: number, message: string): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: ProtocolErrorCode.InternalError, message } };
}
