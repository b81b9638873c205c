import { randomBytes } from 'node:crypto';
import { link, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext, type SecureContext } from 'node:tls';
import { RecentMap } from '../../common/recent-map.ts';
import { failure } from '../../contracts/errors.ts';
import { ensureOwnDirectory, readOwnSecret } from '../../platform/own-path.ts';
import { certifyHost, createAuthority, type Certified } from '../../certificates/certificates.ts';

/** A certificate authority. It signs certificates of hosts whose TLS the worker terminates, in order to add credentials. */
export interface Authority {
  /** The certificate that sandboxes trust, as PEM. Its key stays with the worker. */
  certificate(): Promise<string>;
  contextFor(host: string): Promise<SecureContext>;
}

const FILE = 'egress-authority.pem';
const MAX_HELD = 200;
/** Well before a host's certificate expires. */
const RENEW_AFTER_MS = 7 * 86_400_000;

/** Stores one authority in the directory, readable only by its owner, so that all workers of a machine use the same. It is created on first use. */
export function createHeldAuthority(directory: string): Authority {
  let loading: Promise<Certified> | undefined;
  const contexts = new RecentMap<string, { made: number; context: SecureContext }>(MAX_HELD);
  const load = (): Promise<Certified> => {
    loading ??= loadAuthority(directory).catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  return {
    certificate: async () => (await load()).certificate,
    async contextFor(host) {
      const authority = await load();
      const held = contexts.get(host);
      const now = Date.now();
      if (held && now - held.made < RENEW_AFTER_MS) return held.context;
      const { key, certificate } = certifyHost(host, authority, new Date(now));
      const context = createSecureContext({ key, cert: certificate });
      contexts.set(host, { made: now, context });
      return context;
    },
  };
}

async function loadAuthority(directory: string): Promise<Certified> {
  await ensureOwnDirectory(directory);
  const path = join(directory, FILE);
  const found = await readAuthority(path);
  if (found) return found;
  const made = createAuthority('Longshore egress', new Date());
  const beside = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(beside, made.key + made.certificate, { mode: 0o600, flag: 'wx' });
    // The first authority counts; a worker that loses the race uses the existing one.
    await link(beside, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(beside, { force: true });
  }
  return (await readAuthority(path)) ?? made;
}

async function readAuthority(path: string): Promise<Certified | undefined> {
  const text = await readOwnSecret(path);
  if (text === undefined) return undefined;
  const [key] = /-----BEGIN PRIVATE KEY-----[\s\S]+?-----END PRIVATE KEY-----\n/.exec(text) ?? [];
  const [certificate] = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n/.exec(text) ?? [];
  if (key !== undefined && certificate !== undefined) return { key, certificate };
  throw failure('CONFIG_INVALID', {
    name: 'LONGSHORE_HOME',
    problem: `"${path}" does not hold a key and its certificate`,
    fix: `Remove it, and a new one is made: rm ${path}`,
  });
}
