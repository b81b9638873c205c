import { failure } from '../../src/contracts/errors.ts';
import type { CommandResult, ExecInfo, RunOptions } from '../../src/sandbox/api/commands.ts';
import type { SandboxHandle } from '../../src/sandbox/api/sandbox.ts';

const NOTHING = { text: '', totalBytes: 0, truncated: false, path: '' };

interface FakeExec {
  info: ExecInfo;
  chunks: Buffer[];
  followers: Set<(chunk: Buffer) => void>;
  ended: Promise<CommandResult>;
  end(result: Partial<CommandResult>): void;
  lose(): void;
}

/** A sandbox in memory: commands end when the test says so; `echo …` ends at once. */
export function createFakeSandbox() {
  const execs = new Map<string, FakeExec>();
  const starts: string[] = [];
  const files = new Map<string, string>();
  let dead = false;
  let emptied = false;
  const begin = (execId: string, command: string): FakeExec => {
    const known = execs.get(execId);
    if (known && known.info.command !== command) throw failure('EXEC_MISMATCH', { execId });
    if (known) return known;
    starts.push(command);
    let settle: (result: CommandResult) => void = () => undefined;
    let reject: (error: unknown) => void = () => undefined;
    const ended = new Promise<CommandResult>((resolve, fail) => {
      settle = resolve;
      reject = fail;
    });
    ended.catch(() => undefined);
    const info: ExecInfo = { execId, command, state: 'running', stdoutBytes: 0, stderrBytes: 0, startedAt: new Date().toISOString() };
    const exec: FakeExec = {
      info,
      chunks: [],
      followers: new Set(),
      ended,
      end(result) {
        info.state = 'ended';
        settle({
          execId,
          status: 'exited',
          exitCode: 0,
          stdout: { ...NOTHING, text: Buffer.concat(exec.chunks).toString() },
          stderr: NOTHING,
          durationMs: 1,
          ...result,
        });
      },
      lose() {
        info.state = 'lost';
        reject(failure('SANDBOX_LOST', { sandboxId: 'sbx_1', problem: 'it was killed' }));
      },
    };
    execs.set(execId, exec);
    if (command.startsWith('echo ')) {
      write(exec, command.slice(5));
      exec.end({});
    }
    if (/^(: |tail )/.test(command)) exec.end({});
    return exec;
  };
  const write = (exec: FakeExec, text: string) => {
    const chunk = Buffer.from(text);
    exec.chunks.push(chunk);
    exec.info.stdoutBytes += chunk.length;
    for (const follower of exec.followers) follower(chunk);
  };
  const follow = async (exec: FakeExec, options: Pick<RunOptions, 'onStdout' | 'signal'> = {}): Promise<CommandResult> => {
    const { onStdout = () => undefined, signal } = options;
    for (const chunk of exec.chunks) onStdout(chunk);
    exec.followers.add(onStdout);
    if (exec.info.state === 'lost') exec.lose();
    const released = new Promise<never>((_, reject) => {
      const letGo = () => reject(failure('DETACHED', { execId: exec.info.execId }));
      if (signal?.aborted) letGo();
      signal?.addEventListener('abort', letGo);
    });
    released.catch(() => undefined);
    return Promise.race([exec.ended, released]).finally(() => exec.followers.delete(onStdout));
  };
  const alive = () => {
    if (dead) throw failure('SANDBOX_LOST', { sandboxId: 'sbx_1', problem: 'it was killed' });
  };
  const handle: Partial<SandboxHandle> = {
    sandboxId: 'sbx_1',
    async run(command, options = {}) {
      alive();
      const exec = begin(options.execId ?? `made-up-${execs.size}`, command);
      return follow(exec, options);
    },
    async start(command, options = {}) {
      alive();
      return begin(options.execId ?? `made-up-${execs.size}`, command).info;
    },
    async attach(execId, _from, options) {
      alive();
      const exec = execs.get(execId);
      if (!exec) throw failure('EXEC_NOT_FOUND', { execId, sandboxId: 'sbx_1' });
      return follow(exec, options);
    },
    async execs() {
      alive();
      return [...execs.values()].map(({ info }) => ({ ...info }));
    },
    async kill(execId) {
      const exec = execs.get(execId);
      if (exec?.info.state !== 'running') return false;
      exec.end({ status: 'killed', signal: 'SIGTERM' });
      return true;
    },
    async writeFile(path, data) {
      alive();
      if (typeof data !== 'string' && !(data instanceof Uint8Array)) throw new TypeError('the fake takes no streams');
      files.set(path, Buffer.from(data).toString());
    },
  };
  return {
    handle: handle as SandboxHandle,
    execs,
    /** Commands really started, in order. */
    starts,
    files,
    write: (execId: string, text: string) => write(execs.get(execId)!, text),
    end: (execId: string, result: Partial<CommandResult> = {}) => execs.get(execId)!.end(result),
    /** The container dies; the journal stays. */
    die() {
      dead = true;
      for (const exec of execs.values()) if (exec.info.state === 'running') exec.lose();
    },
    /** The volume goes as well. */
    empty() {
      emptied = true;
      execs.clear();
    },
    revive() {
      dead = false;
      const lostFiles = emptied;
      emptied = false;
      return { lostFiles };
    },
    isDead: () => dead,
  };
}
