import { PassThrough } from 'node:stream';
import { runCli } from '../../src/cli/run-cli.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { connect, type Longshore } from '../../src/client.ts';

export interface CliResult {
  code: number;
  out: string;
  err: string;
}

/** Runs a command line in this process; `longshore` is used and left open. */
export async function runLine(
  longshore: Longshore | undefined,
  args: string[],
  options: { input?: string; interrupt?: AbortSignal; environment?: NodeJS.ProcessEnv } = {},
): Promise<CliResult> {
  const [out, err, input] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const [said, complained] = [gather(out), gather(err)];
  input.end(options.input ?? '');
  const code = await runCli(args, {
    out,
    err,
    in: input,
    exitCode: 0,
    config: () => loadConfig(options.environment ?? process.env),
    connect: longshore ? async () => ({ ...longshore, [Symbol.asyncDispose]: async () => undefined }) : connect,
    onInterrupt(listener) {
      options.interrupt?.addEventListener('abort', listener);
      return () => options.interrupt?.removeEventListener('abort', listener);
    },
  });
  return { code, out: said(), err: complained() };
}

function gather(stream: PassThrough): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return () => text + ((stream.read() as string | null) ?? '');
}
