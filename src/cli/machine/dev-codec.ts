import { join } from 'node:path';
import { makeKeyText, readKeyText, sha256Of, type KeyText } from '../../client/key-text.ts';
import type { Config } from '../../platform/config.ts';
import { readEncryptionKeys } from '../../platform/encryption-keys.ts';
import { createLogger } from '../../platform/log.ts';
import { loginName } from '../../platform/login-name.ts';
import { ensureOwnDirectory, readOwnSecret } from '../../platform/own-path.ts';
import { writeWhole } from '../../platform/place-whole.ts';

/** How Temporal's UI of the development stack has payloads decrypted. */
export interface DevCodec {
  key: KeyText;
  /** Has the key: anyone who can open the UI of this machine can read what it shows. */
  endpoint: string;
}

/** Undefined without keys of encryption. The same key at every start: the UI is started before the database that knows the key. */
export async function devCodec(config: Config): Promise<DevCodec | undefined> {
  if (readEncryptionKeys(config.LONGSHORE_ENCRYPTION_KEYS).byId.size === 0) return undefined;
  const home = join(config.LONGSHORE_HOME, 'dev');
  await ensureOwnDirectory(home);
  const path = join(home, 'codec-key');
  const kept = readKeyText((await readOwnSecret(path))?.trim() ?? '');
  const key = kept ?? makeKeyText();
  if (!kept) await writeWhole(path, `${key.text}\n`, { mode: 0o600 });
  return { key, endpoint: `http://${config.LONGSHORE_API_ADDRESS}/codec/${key.text}` };
}

/** Makes sure that the database knows the key. One that was revoked stays so. */
export async function admitCodec(config: Config, { key: { keyId, secret } }: DevCodec): Promise<void> {
  const { openStore } = await import('../../store/open-store.ts');
  await using store = await openStore({
    url: config.DATABASE_URL,
    log: createLogger({ LONGSHORE_LOG_LEVEL: 'error' }),
    poolSize: 1,
    migrate: config.LONGSHORE_MIGRATE,
  });
  const isKnown = (await store.apiKeys.list()).some((key) => key.keyId === keyId);
  if (isKnown) return;
  const key = { keyId, name: 'Temporal UI of longshore dev', scopes: ['codec:decode' as const], secretSha256: sha256Of(secret) };
  await store.apiKeys.create(key, { actor: { kind: 'login', id: loginName() ?? 'unknown' } });
}

/** The origins of the UI of this machine, by address and by name, besides those of the configuration. */
export function withOriginOf(config: Config, uiUrl: string | undefined): Config {
  if (uiUrl === undefined) return config;
  const origins = [uiUrl, uiUrl.replace('127.0.0.1', 'localhost')].map((url) => new URL(url).origin);
  return { ...config, LONGSHORE_CODEC_ORIGINS: [...config.LONGSHORE_CODEC_ORIGINS, ...origins] };
}
