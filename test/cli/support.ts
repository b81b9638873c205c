import { PassThrough } from 'node:stream';
import { runCli } from '../../src/cli/run-cli.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { connect, type Longshore } from '../../src/client.ts';

export interface CliResult {
  code: number;
  out: string;
  err: string;
}

export interface LineOptions {
  input?: string;
  /** Makes the input a terminal: what the person answers when a question is asked. */
  answer?: () => string | Promise<string>;
  interrupt?: AbortSignal;
  environment?: NodeJS.ProcessEnv;
}

/** Runs a command line in this process; `longshore` is used and left open. */
export async function runLine(longshore: Longshore | undefined, args: string[], options: LineOptions = {}): Promise<CliResult> {
  const [out, err, input] = [new PassThrough(), new PassThrough(), Object.assign(new PassThrough(), { isTTY: options.answer !== undefined })];
  const [said, complained] = [gather(out), gather(err)];
  if (options.answer === undefined) input.end(options.input ?? '');
  else answerAt(out, input, options.answer);
  const code = await runCli(args, {
    out,
    err,
    in: input,
    exitCode: 0,
    config: () => loadConfig(options.environment ?? process.env),
    connect: longshore ? async () => ({ ...longshore, [Symbol.asyncDispose]: async () => undefined }) : connect,
    onInterrupt(listener) {
      if (options.interrupt?.aborted) listener();
      options.interrupt?.addEventListener('abort', listener);
      return () => options.interrupt?.removeEventListener('abort', listener);
    },
    onReaderGone: () => () => undefined,
  });
  return { code, out: said(), err: complained() };
}

function gather(stream: PassThrough): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return () => text + ((stream.read() as string | null) ?? '');
}

function answerAt(out: PassThrough, input: PassThrough, answer: () => string | Promise<string>): void {
  out.on('data', (chunk: string) => {
    if (chunk.includes('(y/N)'))
      Promise.resolve(answer()).then(
        (text) => input.write(`${text}\n`),
        (error: unknown) => input.destroy(error as Error),
      );
  });
}
