/**
 * The only description of the protocol between worker and supervisor. `protocol-types.ts` infers types from it, `validate.ts` checks messages against it,
 * and the supervisor reads it as protocol.json, which `scripts/generate-schemas.ts` writes.
 */
export interface ProtocolField {
  readonly type: 'id' | 'text' | 'integer' | 'boolean' | 'choice' | 'texts' | 'textMap' | 'object' | 'record';
  readonly optional?: true;
  readonly min?: number;
  readonly max?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly values?: readonly string[];
  readonly record?: string;
}
/** `...` adds the fields of the named records. */
export type Fields = Readonly<Record<string, ProtocolField | readonly string[]>>;
/** `reply` is sent before the end. `lines` are lines of JSON in the data. */
export interface OperationFields {
  readonly request: Fields;
  readonly reply?: Fields;
  readonly lines?: Fields;
  readonly end: Fields;
}

const id = { type: 'id' } as const;
const boolean = { type: 'boolean' } as const;
const object = { type: 'object' } as const;
const text = <const N extends number>(maxLength: N) => ({ type: 'text', maxLength }) as const;
const texts = <const I extends number, const N extends number>(maxItems: I, maxLength: N) => ({ type: 'texts', maxItems, maxLength }) as const;
const integer = <const N extends number>(min: N) => ({ type: 'integer', min }) as const;
const integerTo = <const N extends number, const M extends number>(min: N, max: M) => ({ type: 'integer', min, max }) as const;
const choice = <const V extends readonly string[]>(...values: V) => ({ type: 'choice', values }) as const;
const record = <const R extends string>(name: R) => ({ type: 'record', record: name }) as const;
const optional = <const F extends ProtocolField>(field: F) => ({ ...field, optional: true }) as const;

const count = integer(0);
const time = text(40);
const path = text(4096);
/** For paths that the sandbox reports: a name in a directory whose own path may have the maximal length. */
const longPath = text(8192);
const problem = text(8192);
const mode = integerTo(0, 4095);
const entries = integerTo(0, 100_000);
const words = text(131_071);
const accepted = { accepted: count };

export const PROTOCOL = {
  version: 5,
  limits: {
    frameBytes: 1_048_576,
    chunkBytes: 131_072,
    windowBytes: 524_288,
    connections: 64,
    channels: 1024,
    runningExecs: 100,
    listedBytes: 67_108_864,
    methodBytes: 1_000_000,
    openMethods: 64,
    methodCalls: 10_000,
  },
  /** Limits for the output of a piece of code: characters of one part, bytes in total, and what the worker keeps and passes on. */
  code: { partCharacters: 16_000_000, toldBytes: 40_000_000, keptCharacters: 32_768, values: 100, valuesBytes: 20_000_000 },
  frames: { request: 1, reply: 2, data: 3, errorData: 4, credit: 5, end: 6, error: 7, cancel: 8 },
  id: { marks: '_.:-', maxLength: 128 },
  records: {
    exec: {
      execId: id,
      /** Either a bash command, or a program with its arguments. `program` is a program of the supervisor that runs as the guest. */
      command: optional(words),
      argv: optional(texts(1000, 131_071)),
      program: optional(choice('terminal', 'python', 'javascript', 'call', 'mcp', 'mcp-call', 'tool')),
      /** Relative paths start at the user's home. */
      cwd: path,
      env: { type: 'textMap', maxItems: 500, maxLength: 131_071 },
      /** Milliseconds, without the time in which the sandbox is frozen; 0: no limit. */
      timeoutMs: integerTo(0, 2_678_400_000),
      /** Per stream. */
      maxOutputBytes: integerTo(0, 1_099_511_627_776),
      stdin: choice('empty', 'open'),
      /** The code may call tools of the conversation. The follower of `calls` answers them. */
      methods: optional(boolean),
      /** A user that the image declares. Default: the sandbox's own user. */
      user: optional(text(32)),
    },
    follow: { stream: boolean, stdoutOffset: count, stderrOffset: count, previewBytes: integerTo(0, 65_536) },
    started: { startedAt: time },
    exit: {
      /** `failed`: it could not be started. `lost`: its container died before it ended. */
      status: choice('exited', 'timeout', 'killed', 'concluded', 'failed', 'lost'),
      exitCode: optional(integerTo(0, 255)),
      /** Number of the tool call at which it was ended. Only with `concluded`. */
      concludedBy: optional(integer(1)),
      signal: optional(text(16)),
      /** Why it could not be started. Only with `failed`. */
      problem: optional(problem),
      /** The limit of the sandbox that it reached. */
      limit: optional(choice('memory', 'disk')),
      durationMs: count,
      stdoutBytes: count,
      stderrBytes: count,
      stdoutKept: count,
      stderrKept: count,
    },
    preview: {
      head: text(131_072),
      /** Empty when `head` is all that was kept. */
      tail: text(131_072),
      leftOut: count,
      path,
    },
    ended: { exit: record('exit'), stdout: record('preview'), stderr: record('preview') },
    execInfo: {
      execId: id,
      /** The first 1000 characters. */
      command: text(2000),
      state: choice('running', 'ended', 'lost'),
      /** It was lost with a container before the last one. That loss was reported before. */
      past: optional(boolean),
      startedAt: time,
      stdoutBytes: count,
      stderrBytes: count,
      stdoutPath: optional(path),
      stderrPath: optional(path),
      exit: optional(record('exit')),
    },
    fileInfo: {
      path: longPath,
      type: choice('file', 'directory', 'link', 'other'),
      size: count,
      mode,
      modifiedAt: time,
      accessedAt: time,
      changedAt: time,
      linkTarget: optional(longPath),
    },
    /** A copy of the home directory. `addedBytes`: what it takes up in addition to the older ones. `leftOut`: what its user cannot read. */
    checkpoint: { number: integer(1), at: time, files: count, bytes: count, changed: count, addedBytes: count, leftOut: count },
    /** One path at one moment. `bytes` of content follow the line. `closed`: it cannot be read. */
    compared: {
      type: choice('file', 'directory', 'link', 'other', 'closed'),
      mode: optional(mode),
      size: optional(count),
      target: optional(longPath),
      bytes: optional(count),
      /** Of a directory. */
      empty: optional(boolean),
    },
    /** `paths` and `problems` describe the first failures, index by index. */
    transfer: { files: count, bytes: count, failed: count, paths: optional(texts(100, 8192)), problems: optional(texts(100, 8192)) },
    failure: {
      code: choice(
        'INVALID_ARGUMENT',
        'USER_NOT_FOUND',
        'EXEC_NOT_FOUND',
        'EXEC_MISMATCH',
        'EXEC_FAILED',
        'FILE_NOT_FOUND',
        'FILE_FAILED',
        'FILE_CHANGED',
        'PORT_CLOSED',
        'SUPERSEDED',
        'INTERNAL',
      ),
      problem,
    },
  },
  operations: {
    /** `fence`: the number of the container. A supervisor refuses a lower one than it was told before, and answers with its own. */
    hello: {
      request: { version: count, diskBytes: optional(count), fence: optional(integer(1)) },
      end: { version: count, supervisorId: id, bootedAt: time, fence: optional(integer(1)) },
    },
    ping: { request: {}, end: {} },
    run: { request: { '...': ['exec', 'follow'] }, reply: { '...': ['started'] }, end: { '...': ['ended'] } },
    start: { request: { '...': ['exec'] }, end: { '...': ['execInfo'] } },
    attach: { request: { execId: id, '...': ['follow'] }, reply: { '...': ['started'] }, end: { '...': ['ended'] } },
    input: { request: { execId: id, inputId: id, size: count, end: boolean }, reply: accepted, end: {} },
    signal: {
      request: { execId: id, signal: choice('SIGTERM', 'SIGKILL', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGSTOP', 'SIGCONT') },
      end: { signalled: boolean },
    },
    list: { request: {}, lines: { '...': ['execInfo'] }, end: {} },
    info: { request: { execId: id }, end: { '...': ['execInfo'] } },
    forget: { request: { execId: id }, end: {} },
    calls: {
      request: { execId: id },
      lines: {
        /** Counts the calls of the exec from 1. */
        number: integer(1),
        tool: text(200),
        arguments: object,
        /** The call was reported before, to this worker or another, which may have acted on it. */
        repeated: boolean,
      },
      end: {},
    },
    hold: { request: { execId: id, number: integer(1) }, end: { held: count } },
    answer: { request: { execId: id, number: integer(1), size: integerTo(2, 2_000_000) }, reply: accepted, end: {} },
    conclude: { request: { execId: id, number: integer(1) }, end: {} },
    readFile: { request: { path, offset: count, maxBytes: count }, end: { size: count, version: text(100) } },
    writeFile: { request: { path, size: count, mode: optional(mode), expected: optional(text(100)), parents: boolean }, reply: accepted, end: {} },
    writePart: { request: { path, uploadId: id, offset: count, size: count, parents: boolean }, reply: accepted, end: {} },
    commitParts: { request: { path, uploadId: id, size: count, mode: optional(mode) }, end: {} },
    dropParts: { request: { path, uploadId: id }, end: {} },
    packDirectory: { request: { path }, end: { '...': ['transfer'] } },
    unpackDirectory: { request: { path }, reply: accepted, end: { '...': ['transfer'] } },
    watch: {
      request: { path, recursive: boolean },
      lines: { type: choice('ready', 'created', 'changed', 'removed', 'overflow'), path: longPath },
      end: {},
    },
    listFiles: {
      request: { path, recursive: boolean, pattern: optional(path), maxEntries: entries },
      lines: { '...': ['fileInfo'] },
      end: { truncated: boolean },
    },
    glob: { request: { path, pattern: path, hidden: boolean, maxEntries: entries }, lines: { path: longPath }, end: { truncated: boolean } },
    fileInfo: { request: { path }, end: { info: optional(record('fileInfo')) } },
    removeFile: { request: { path, recursive: boolean }, end: {} },
    createDirectory: { request: { path, parents: boolean }, end: {} },
    'tunnel.serve': { request: { port: integerTo(1, 65_535), certificate: optional(text(16_384)) }, lines: { tunnelId: id }, end: {} },
    'tunnel.accept': { request: { tunnelId: id }, reply: accepted, end: {} },
    'port.connect': { request: { port: integerTo(1, 65_535) }, reply: accepted, end: {} },
    /** Two requests with the same `key`, one after the other, are one. `keep`: how many checkpoints remain. `made: false`: nothing has changed since the newest. */
    createCheckpoint: { request: { key: id, keep: integerTo(1, 1000) }, end: { made: boolean, checkpoint: record('checkpoint'), oldest: integer(1) } },
    /**
     * The checkpoints for a backup, as `bring_back.py` reads them, without what earlier streams had. `known`: those streams, the oldest first, each as the number of
     * its checkpoint, its bytes and its time. `since`: the number of the last of them that is needed still; `bytes`: content in this one.
     */
    packCheckpoint: { request: { number: integer(1), at: time, known: optional(texts(100, 100)) }, end: { since: count, bytes: count } },
    listCheckpoints: { request: {}, lines: { '...': ['checkpoint'] }, end: {} },
    /** Makes the home as it was at the checkpoint that was made at this time; the result is a checkpoint, too. `paths` and `problems` describe the first failures, index by index. */
    restoreCheckpoint: {
      request: { number: integer(1), at: time, key: id, keep: integerTo(1, 1000) },
      end: {
        checkpoint: record('checkpoint'),
        oldest: integer(1),
        written: count,
        removed: count,
        failed: count,
        paths: optional(texts(100, 8192)),
        problems: optional(texts(100, 8192)),
      },
    },
    /**
     * What differs between a checkpoint and the files as they are, or another checkpoint, in the order of the paths. Files of up to `mostBytes` come with their
     * content: after each line come the bytes before, then the bytes after. `closed`: paths that cannot be read.
     */
    compareCheckpoint: {
      request: { number: integer(1), at: time, toNumber: optional(integer(1)), toAt: optional(time), paths: optional(texts(100, 4096)), mostBytes: count },
      lines: { path: longPath, before: optional(record('compared')), after: optional(record('compared')), problem: optional(problem) },
      end: { at: time, closed: count },
    },
    rename: { request: { from: path, to: path }, end: {} },
  },
} as const satisfies {
  version: number;
  limits: Record<string, number>;
  code: Record<string, number>;
  frames: Record<string, number>;
  id: { marks: string; maxLength: number };
  records: Record<string, Fields>;
  operations: Record<string, OperationFields>;
};
