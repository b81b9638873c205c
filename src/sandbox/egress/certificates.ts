import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign, X509Certificate, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { bitString, boolean, context, integer, octetString, oid, sequence, setOf, time, utf8, type Der } from './der.ts';

/** A key and the certificate of its public half, both PEM. */
export interface Certified {
  key: string;
  certificate: string;
}

const OID = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  subjectKey: '2.5.29.14',
  keyUsage: '2.5.29.15',
  alternativeNames: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKey: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuthentication: '1.3.6.1.5.5.7.3.1',
};
const DAY_MS = 86_400_000;
const AUTHORITY_DAYS = 3650;
const HOST_DAYS = 30;
/** The clock of a sandbox that was at rest may be slow. */
const BACKDATED_DAYS = 2;
const AUTHORITY_NAME = 'Longshore egress';
const KEY_USAGE = { digitalSignature: bitString(Buffer.of(0x80), 7), signing: bitString(Buffer.of(0x06), 1) };

/** A new authority. It may sign certificates of hosts, but not of other authorities. */
export function createAuthority(now: Date): Certified {
  const { publicKey, privateKey } = newKeys();
  // The name is unique, so that a client that knows several authorities picks the right one.
  const name = `${AUTHORITY_NAME} ${randomBytes(4).toString('hex')}`;
  const extensions = [
    extension(OID.basicConstraints, sequence(boolean(true), integer(Buffer.of(0))), true),
    extension(OID.keyUsage, KEY_USAGE.signing, true),
    extension(OID.subjectKey, octetString(keyId(publicKey))),
  ];
  return { key: pem(privateKey), certificate: issue({ name, issuer: name, publicKey, signer: privateKey, days: AUTHORITY_DAYS, now, extensions }) };
}

/** A certificate for one host, signed by the authority. */
export function certifyHost(host: string, authority: Certified, now: Date): Certified {
  const { publicKey, privateKey } = newKeys();
  const signer = createPrivateKey(authority.key);
  const name = isIP(host) === 0 ? context(2, Buffer.from(host)) : context(7, Buffer.from(ipaddr.parse(host).toByteArray()));
  const extensions = [
    extension(OID.basicConstraints, sequence(), true),
    extension(OID.keyUsage, KEY_USAGE.digitalSignature, true),
    extension(OID.extendedKeyUsage, sequence(oid(OID.serverAuthentication))),
    extension(OID.subjectKey, octetString(keyId(publicKey))),
    extension(OID.authorityKey, sequence(context(0, keyId(createPublicKey(signer))))),
    extension(OID.alternativeNames, sequence(name), true),
  ];
  const issuer = /CN=(.+)/.exec(new X509Certificate(authority.certificate).subject)?.[1] ?? '';
  return { key: pem(privateKey), certificate: issue({ name: undefined, issuer, publicKey, signer, days: HOST_DAYS, now, extensions }) };
}

interface Issue {
  /** Undefined for hosts: an extension names them, since a common name has at most 64 characters. */
  name: string | undefined;
  issuer: string;
  publicKey: KeyObject;
  signer: KeyObject;
  days: number;
  now: Date;
  extensions: Der[];
}

function issue({ name, issuer, publicKey, signer, days, now, extensions }: Issue): string {
  const algorithm = sequence(oid(OID.ecdsaWithSha256));
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const body = sequence(
    context(0, integer(Buffer.of(2)), { constructed: true }),
    integer(serial),
    algorithm,
    distinguishedName(issuer),
    sequence(time(new Date(now.getTime() - BACKDATED_DAYS * DAY_MS)), time(new Date(now.getTime() + days * DAY_MS))),
    name === undefined ? sequence() : distinguishedName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    context(3, sequence(...extensions), { constructed: true }),
  );
  const certificate = sequence(body, algorithm, bitString(sign('sha256', body, signer)));
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function newKeys(): { publicKey: KeyObject; privateKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function pem(key: KeyObject): string {
  return String(key.export({ type: 'pkcs8', format: 'pem' }));
}

function distinguishedName(commonName: string): Der {
  return sequence(setOf(sequence(oid(OID.commonName), utf8(commonName))));
}

function extension(id: string, value: Der, critical = false): Der {
  return sequence(oid(id), ...(critical ? [boolean(true)] : []), octetString(value));
}

function keyId(publicKey: KeyObject): Buffer {
  return createHash('sha1')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest();
}
