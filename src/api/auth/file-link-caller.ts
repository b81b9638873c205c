import { hasSecret, readKeyText } from '../../client/key-text.ts';
import { failure } from '../../contracts/errors.ts';
import type { FileLink, FileLinkRows } from '../../store/service/file-links.ts';
import type { Caller } from './caller.ts';

/** The link of an address. @throws LINK_ENDED */
export async function fileLinkOf(links: Pick<FileLinkRows, 'find'>, token: string, kind: FileLink['kind']): Promise<FileLink> {
  const given = readKeyText(token, 'lsf');
  const link = given && (await links.find(given.keyId));
  const isRight = hasSecret(given, link?.secretSha256);
  if (!link || !isRight || link.kind !== kind) throw failure('LINK_ENDED', { problem: 'is not valid' });
  if (link.expired) throw failure('LINK_ENDED', { problem: 'has expired' });
  if (link.keyEnded) throw failure('LINK_ENDED', { problem: 'was made with a key that was revoked or has expired' });
  if (link.closed) throw failure('LINK_ENDED', { problem: 'leads to a conversation that is closed' });
  if (link.removed) throw failure('LINK_ENDED', { problem: 'leads to a sandbox that was removed' });
  return link;
}

/** Somebody with a link acts for its tenant, without any scope, and within the limits of the key that made it. */
export function callerOfLink({ linkId, keyId, tenantId }: FileLink): Caller {
  return { keyId, actor: { kind: 'link', id: linkId }, tenantId, scopes: new Set() };
}
