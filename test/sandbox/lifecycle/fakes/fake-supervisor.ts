import { Duplex } from 'node:stream';
import type { JsonObject } from '../../../../src/contracts/json.ts';
import { encodeFrame, FrameReader, FRAMES, PROTOCOL_VERSION, type Frame } from '../../../../src/sandbox/protocol/frames.ts';

import { FakeFiles } from './fake-backups.ts';

interface FakeExec {
  state: 'running' | 'ended' | 'lost';
  /** Milliseconds of work that are left; `Infinity` for one that waits for its input. */
  leftMs: number;
  status: 'exited' | 'killed';
}

/** What survives a container: the journal of its commands, and its files. */
export class FakeVolume {
  readonly execs = new Map<string, FakeExec>();
  readonly starts = new Map<string, number>();
  readonly startedAtMs = new Map<string, number>();
  /** A command that has ended has made a file with its name. */
  files = new FakeFiles();
  readonly labels: Record<string, string>;
  readonly createdAtMs = Date.now();

  constructor(labels: Record<string, string> = {}) {
    this.labels = labels;
  }

  /** What a job copies: the files, and the journal, in which what runs now has not ended. */
  content(): string {
    return JSON.stringify({ files: [...this.files.names], execs: [...this.execs] });
  }

  take(content: string): void {
    const { files, execs } = JSON.parse(content) as { files: string[]; execs: [string, FakeExec][] };
    this.files = new FakeFiles();
    for (const name of files) this.files.names.add(name);
    for (const [execId, exec] of execs) this.execs.set(execId, exec.state === 'running' ? { ...exec, state: 'lost' } : exec);
  }
}

const TICK_MS = 20;
const NEEDS_EXEC: ReadonlySet<string> = new Set(['attach', 'info', 'input', 'signal']);

interface Request {
  operation: string;
  execId: string;
  command: string;
  size: number;
  end: boolean;
  fence?: number;
  number: number;
  at: string;
  known?: string[];
}
type Send = (frame: number, value: object | string) => void;

/**
 * As much of a supervisor as lifecycle tests need: commands are `work MILLISECONDS` or `wait` (for the end of stdin). It stands still while its container
 * is frozen, requests that come then are answered after the thaw, and what runs at its end is lost.
 */
export class FakeSupervisor {
  readonly #volume: FakeVolume;
  readonly #id: string;
  readonly #sockets = new Set<Duplex>();
  #waiting: (() => void)[] = [];
  #followers: { execId: string; end: () => void }[] = [];
  #frozen = false;
  #ended = false;
  #ticks = false;
  #fence = 0;

  constructor(volume: FakeVolume, id: string) {
    this.#volume = volume;
    this.#id = id;
  }

  connect(): Duplex {
    const [ours, theirs] = duplexPair();
    this.#sockets.add(ours);
    const reader = new FrameReader((frame) => this.#whenAwake(() => this.#take(ours, frame)));
    ours.on('data', (chunk: Buffer) => reader.push(chunk));
    ours.on('error', () => undefined);
    ours.on('close', () => this.#sockets.delete(ours));
    return theirs;
  }

  freeze(): void {
    this.#frozen = true;
  }

  thaw(): void {
    this.#frozen = false;
    for (const act of this.#waiting.splice(0)) act();
  }

  /** Its processes are put to disk. */
  sleep(): void {
    this.#frozen = true;
    this.#waiting = [];
    this.#followers = [];
    for (const socket of this.#sockets) socket.destroy();
  }

  wakeUp(): void {
    this.thaw();
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const exec of this.#volume.execs.values()) if (exec.state === 'running') exec.state = 'lost';
    for (const socket of this.#sockets) socket.destroy();
  }

  /** While a command runs, or is followed. */
  #tick(): void {
    if (this.#ticks) return;
    this.#ticks = true;
    setTimeout(() => {
      this.#ticks = false;
      if (this.#ended) return;
      if (!this.#frozen) this.#pass();
      if (this.#followers.length > 0 || [...this.#volume.execs.values()].some(({ state }) => state === 'running')) this.#tick();
    }, TICK_MS);
  }

  #pass(): void {
    for (const [execId, exec] of this.#volume.execs) {
      if (exec.state !== 'running') continue;
      exec.leftMs -= TICK_MS;
      if (exec.leftMs > 0) continue;
      exec.state = 'ended';
      this.#volume.files.names.add(execId);
    }
    this.#answerFollowers();
  }

  #whenAwake(act: () => void): void {
    if (this.#ended) return;
    if (this.#frozen) this.#waiting.push(() => this.#whenAwake(act));
    else act();
  }

  #answerFollowers(): void {
    this.#followers = this.#followers.filter(({ execId, end }) => {
      if (this.#volume.execs.get(execId)?.state === 'running') return true;
      end();
      return false;
    });
  }

  #take(socket: Duplex, { type, channel, payload }: Frame): void {
    if (type !== FRAMES.request) return;
    const request = JSON.parse(payload.toString()) as Request;
    const send = (frame: number, value: object | string): void => {
      if (!socket.destroyed) socket.write(encodeFrame(frame, channel, typeof value === 'string' ? value : JSON.stringify(value)));
    };
    const perform = this.#operations[request.operation];
    const isUnknown = NEEDS_EXEC.has(request.operation) && !this.#volume.execs.has(request.execId);
    if (isUnknown) send(FRAMES.error, { code: 'EXEC_NOT_FOUND', problem: request.execId });
    else if (perform === undefined) send(FRAMES.error, { code: 'INTERNAL', problem: request.operation });
    else perform(request, send);
  }

  readonly #operations: Record<string, (request: Request, send: Send) => void> = {
    hello: ({ fence }, send) => {
      if (fence !== undefined && fence < this.#fence) return send(FRAMES.error, { code: 'SUPERSEDED', problem: `it is number ${this.#fence}` });
      this.#fence = fence ?? this.#fence;
      return send(FRAMES.end, { version: PROTOCOL_VERSION, supervisorId: this.#id, bootedAt: 'now', ...(fence !== undefined && { fence }) });
    },
    ping: (_request, send) => send(FRAMES.end, {}),
    start: ({ execId, command }, send) => {
      this.#start(execId, command);
      send(FRAMES.end, this.#info(execId));
    },
    run: ({ execId, command }, send) => {
      this.#start(execId, command);
      this.#follow(execId, send);
    },
    attach: ({ execId }, send) => this.#follow(execId, send),
    input: ({ execId, size, end }, send) => {
      const exec = this.#volume.execs.get(execId);
      if (end && exec?.leftMs === Infinity) exec.leftMs = 0;
      send(FRAMES.reply, { accepted: size });
      send(FRAMES.end, {});
    },
    signal: ({ execId }, send) => {
      const exec = this.#volume.execs.get(execId);
      const signalled = exec?.state === 'running';
      if (exec !== undefined && signalled) Object.assign(exec, { state: 'ended', status: 'killed' });
      send(FRAMES.end, { signalled });
      this.#answerFollowers();
    },
    list: (_request, send) => {
      for (const id of this.#volume.execs.keys()) send(FRAMES.data, `${JSON.stringify(this.#info(id))}\n`);
      send(FRAMES.end, {});
    },
    createCheckpoint: (_request, send) => send(FRAMES.end, this.#volume.files.checkpoint()),
    packCheckpoint: ({ number, at, known }, send) => {
      const packed = this.#volume.files.pack(number, at, known);
      if (packed === undefined) return send(FRAMES.error, { code: 'FILE_CHANGED', problem: 'there is a newer checkpoint' });
      send(FRAMES.data, packed.stream);
      return send(FRAMES.end, { since: packed.since, bytes: packed.bytes });
    },
    readFile: (_request, send) => {
      send(FRAMES.data, 'content');
      send(FRAMES.end, { size: 7, version: '1' });
    },
  };

  #start(execId: string, command: string): void {
    if (this.#volume.execs.has(execId)) return;
    this.#volume.starts.set(execId, (this.#volume.starts.get(execId) ?? 0) + 1);
    this.#volume.startedAtMs.set(execId, performance.now());
    const [word, milliseconds] = command.split(' ');
    this.#volume.execs.set(execId, { state: 'running', leftMs: word === 'wait' ? Infinity : Number(milliseconds), status: 'exited' });
    this.#tick();
  }

  #follow(execId: string, send: Send): void {
    const preview = { head: '', tail: '', leftOut: 0, path: '/x' };
    send(FRAMES.reply, { startedAt: 'now' });
    this.#followers.push({ execId, end: () => send(FRAMES.end, { exit: this.#exit(execId), stdout: preview, stderr: preview }) });
    this.#answerFollowers();
    this.#tick();
  }

  #exit(execId: string): JsonObject {
    const exec = this.#volume.execs.get(execId);
    const sizes = { durationMs: 1, stdoutBytes: 0, stderrBytes: 0, stdoutKept: 0, stderrKept: 0 };
    return exec?.state === 'lost' ? { status: 'lost', ...sizes } : { status: exec?.status ?? 'exited', exitCode: 0, ...sizes };
  }

  #info(execId: string): JsonObject {
    const state = this.#volume.execs.get(execId)?.state ?? 'lost';
    return { execId, command: '', state, startedAt: 'now', stdoutBytes: 0, stderrBytes: 0, ...(state !== 'running' && { exit: this.#exit(execId) }) };
  }
}

/** Two ends of one connection; what ends or is destroyed at one end ends at the other. */
function duplexPair(): [Duplex, Duplex] {
  const ends: Duplex[] = [0, 1].map(
    (index) =>
      new Duplex({
        read: () => undefined,
        write(chunk: Buffer, _encoding, done) {
          const other = ends[1 - index];
          if (other !== undefined && !other.destroyed) other.push(chunk);
          done();
        },
        destroy(error, done) {
          const other = ends[1 - index];
          if (other !== undefined && !other.destroyed) other.push(null);
          done(error);
        },
      }),
  );
  return [ends[0]!, ends[1]!];
}
