import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { loadConfig } from '../../src/platform/config.ts';
import { withLock } from '../../src/platform/lock.ts';
import { ensureOwnDirectory } from '../../src/platform/own-path.ts';
import { mustRun } from '../../src/platform/run-command.ts';
import { ensureGo } from '../../src/setup/go.ts';
import { installProgram } from '../../src/setup/install-program.ts';
import { freePort } from '../../src/setup/ports.ts';

const VERSION = 'v1.8.0';
const MODULE = `github.com/versity/versitygw/cmd/versitygw@${VERSION}`;

export const KEYS = { AWS_ACCESS_KEY_ID: 'longshore', AWS_SECRET_ACCESS_KEY: 'longshore-secret', AWS_REGION: 'us-east-1' };
export const BUCKET = 'bucket';

export interface S3Gateway extends AsyncDisposable {
  port: number;
}

/** A server of S3 that others run in production, Versity's gateway, on files of this machine. It is built from its Go module once. */
export async function startS3Gateway(): Promise<S3Gateway> {
  const program = await ensureGateway();
  const root = await mkdtemp(join(tmpdir(), 'longshore-s3-'));
  for (const name of ['data', 'meta']) await mkdir(join(root, name));
  const port = await freePort();
  const env = { ...process.env, ROOT_ACCESS_KEY: KEYS.AWS_ACCESS_KEY_ID, ROOT_SECRET_KEY: KEYS.AWS_SECRET_ACCESS_KEY };
  const child = spawn(program, ['--port', `127.0.0.1:${port}`, '--region', KEYS.AWS_REGION, 'posix', '--sidecar', join(root, 'meta'), join(root, 'data')], {
    env,
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  const client = new S3Client({
    endpoint: `http://127.0.0.1:${port}`,
    region: KEYS.AWS_REGION,
    forcePathStyle: true,
    credentials: { accessKeyId: KEYS.AWS_ACCESS_KEY_ID, secretAccessKey: KEYS.AWS_SECRET_ACCESS_KEY },
    // It listens a moment after its start.
    maxAttempts: 30,
  });
  await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
  client.destroy();
  return {
    port,
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
      await rm(root, { recursive: true });
    },
  };
}

async function ensureGateway(): Promise<string> {
  const { LONGSHORE_HOME: home } = loadConfig();
  const program = join(home, 'bin', `versitygw-${VERSION}`);
  return withLock(join(home, 'versitygw.lock'), async () => {
    if (existsSync(program)) return program;
    await ensureOwnDirectory(join(home, 'bin'));
    const go = await ensureGo(() => undefined);
    const directory = await mkdtemp(join(tmpdir(), 'longshore-go-'));
    try {
      const env = { ...go.env, GOBIN: directory, GOCACHE: join(directory, 'objects'), CGO_ENABLED: '0' };
      await mustRun('Building an S3 server for tests', go.program, ['install', MODULE], { env, fix: 'The Go module proxy has to be reachable' });
      await installProgram(join(directory, 'versitygw'), program);
    } finally {
      await rm(directory, { recursive: true, force: true });
      await go.dispose();
    }
    return program;
  });
}
