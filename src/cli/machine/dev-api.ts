import { join } from 'node:path';
import { SCOPES } from '../../contracts/api-key.ts';
import { isFailure } from '../../contracts/errors.ts';
import type { Config } from '../../platform/config.ts';
import { createLogger } from '../../platform/log.ts';
import { readOwnSecret } from '../../platform/own-path.ts';
import { ownVersion } from '../../platform/own-version.ts';
import { writeWhole } from '../../platform/place-whole.ts';
import type { DevStack } from '../../setup/dev-stack.ts';
import { printFact, type Cli } from '../output/cli.ts';
import { admitCodec, withOriginOf, type DevCodec } from './dev-codec.ts';

/**
 * Serves the HTTP API of the development stack until `signal` aborts, and prints its address and a key. Never rejects: a failure is told, and the rest of the
 * stack runs on.
 */
export async function serveDevApi(
  cli: Cli,
  { config, uiUrl }: Pick<DevStack, 'config' | 'uiUrl'>,
  { codec, signal }: { codec: DevCodec | undefined; signal: AbortSignal },
): Promise<void> {
  try {
    const { serveApi } = await import('../../api/serve-api.ts');
    const key = await developmentKey(config);
    const onReady = (url: string) => printFact(cli, `HTTP API    ${url} (key ${key})`);
    if (codec) await admitCodec(config, codec);
    await serveApi(withOriginOf(config, uiUrl), { log: createLogger({ LONGSHORE_LOG_LEVEL: 'error' }), version: ownVersion(), signal, onReady });
  } catch (error) {
    const otherPort = isFailure(error, 'CONFIG_INVALID') ? ', or another with --api-port' : '';
    printFact(cli, `The HTTP API is not served. ${(error as Error).message}${otherPort}`);
  }
}

/** The same key at every start, as long as its database has it. */
async function developmentKey(config: Config): Promise<string> {
  const path = join(config.LONGSHORE_HOME, 'dev', 'api-key');
  const kept = (await readOwnSecret(path))?.trim();
  const { connect } = await import('../../client.ts');
  await using longshore = await connect({ databaseUrl: config.DATABASE_URL, lazy: true });
  const usable = (await longshore.keys.list()).filter(({ revokedAt }) => revokedAt === undefined);
  if (kept !== undefined && usable.some(({ keyId }) => kept.startsWith(`lsk_${keyId}_`))) return kept;
  const { text } = await longshore.keys.create({ name: 'longshore dev', scopes: [...SCOPES] });
  await writeWhole(path, `${text}\n`, { mode: 0o600 });
  return text;
}
