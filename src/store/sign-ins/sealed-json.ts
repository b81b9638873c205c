import { failure } from '../../contracts/errors.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { SecretBox } from '../service/secret-box.ts';

/** JSON that is stored encrypted or not at all. `of`: its row, to which it is bound. */
export interface SealedJson {
  /** @throws CONFIG_INVALID when there is no key */
  seal(value: JsonObject, of: string[]): string;
  open(sealed: string, of: string[]): JsonObject;
}

export function createSealedJson(box: SecretBox): SealedJson {
  const place = (of: string[]) => `mcp ${JSON.stringify(of)}`;
  return {
    seal(value, of) {
      if (!box.seals) throw failure('CONFIG_INVALID', NO_KEY);
      return box.seal(JSON.stringify(value), place(of));
    },
    open: (sealed, of) => JSON.parse(box.open(sealed, place(of))) as JsonObject,
  };
}

const NO_KEY = {
  name: 'LONGSHORE_ENCRYPTION_KEYS',
  problem: 'tokens of MCP servers are stored encrypted or not at all, and there is no key that encrypts',
  fix: 'Set it to the same keys for all workers and services; make a key with: openssl rand -base64 32',
};
