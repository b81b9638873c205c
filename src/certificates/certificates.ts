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
  server: '1.3.6.1.5.5.7.3.1',
  client: '1.3.6.1.5.5.7.3.2',
};
const DAY_MS = 86_400_000;
const AUTHORITY_DAYS = 3650;
const HOST_DAYS = 30;
/** The clock of a sandbox that was at rest may be slow. */
const BACKDATED_DAYS = 2;
const KEY_USAGE = { digitalSignature: bitString(Buffer.of(0x80), 7), signing: bitString(Buffer.of(0x06), 1) };

/** A new authority. It may sign certificates of hosts and clients, but not of other authorities. */
export function createAuthority(purpose: string, now: Date): Certified {
  const { publicKey, privateKey } = newKeys();
  // The name is unique, so that a client that knows several authorities picks the right one.
  const name = `${purpose} ${randomBytes(4).toString('hex')}`;
  const extensions = [
    extension(OID.basicConstraints, sequence(boolean(true), integer(Buffer.of(0))), true),
    extension(OID.keyUsage, KEY_USAGE.signing, true),
    extension(OID.subjectKey, octetString(keyId(publicKey))),
  ];
  return { key: pem(privateKey), certificate: issue({ name, issuer: name, publicKey, signer: privateKey, days: AUTHORITY_DAYS, now, extensions }) };
}

/** A certificate for one host, signed by the authority. */
export function certifyHost(host: string, authority: Certified, now: Date, { days = HOST_DAYS } = {}): Certified {
  const name = isIP(host) === 0 ? dnsName(host) : context(7, Buffer.from(ipaddr.parse(host).toByteArray()));
  return certify({ name, purpose: OID.server, days, now }, authority);
}

/** A certificate with which a program of that name connects to a server. No server can use it. */
export function certifyClient(name: string, authority: Certified, now: Date, { days = HOST_DAYS } = {}): Certified {
  return certify({ name: dnsName(name), purpose: OID.client, days, now }, authority);
}

function certify({ name, purpose, days, now }: { name: Der; purpose: string; days: number; now: Date }, authority: Certified): Certified {
  const { publicKey, privateKey } = newKeys();
  const signer = createPrivateKey(authority.key);
  const extensions = [
    extension(OID.basicConstraints, sequence(), true),
    extension(OID.keyUsage, KEY_USAGE.digitalSignature, true),
    extension(OID.extendedKeyUsage, sequence(oid(purpose))),
    extension(OID.subjectKey, octetString(keyId(publicKey))),
    extension(OID.authorityKey, sequence(context(0, keyId(createPublicKey(signer))))),
    extension(OID.alternativeNames, sequence(name), true),
  ];
  const issuer = /CN=(.+)/.exec(new X509Certificate(authority.certificate).subject)?.[1] ?? '';
  return { key: pem(privateKey), certificate: issue({ name: undefined, issuer, publicKey, signer, days, now, extensions }) };
}

function dnsName(name: string): Der {
  return context(2, Buffer.from(name));
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
