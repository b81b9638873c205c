import { X509Certificate } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHeldAuthority } from '../../../src/sandbox/egress/authority.ts';
import { certifyHost, createAuthority } from '../../../src/certificates/certificates.ts';

const now = new Date('2026-03-01T12:00:00Z');

test('an authority vouches for hosts and for nothing else', () => {
  const authority = createAuthority('Longshore egress', now);
  const ca = new X509Certificate(authority.certificate);
  const host = new X509Certificate(certifyHost('a.test', authority, now).certificate);
  expect(ca.ca).toBe(true);
  expect(host.ca).toBe(false);
  expect(host.checkIssued(ca) && host.verify(ca.publicKey)).toBe(true);
  expect(host.checkHost('a.test')).toBe('a.test');
  expect(host.checkHost('b.test')).toBeUndefined();
  expect(host.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  expect([host.validFrom, host.validTo]).toEqual(['Feb 27 12:00:00 2026 GMT', 'Mar 31 12:00:00 2026 GMT']);
});

test('addresses and long names can be vouched for, and years after 2049 written', () => {
  const authority = createAuthority('Longshore egress', new Date('2045-01-01T00:00:00Z'));
  expect(new X509Certificate(authority.certificate).validTo).toBe('Dec 30 00:00:00 2054 GMT');
  expect(new X509Certificate(certifyHost('2001:db8::1', authority, now).certificate).checkIP('2001:db8::1')).toBe('2001:db8::1');
  const long = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.test`;
  expect(new X509Certificate(certifyHost(long, authority, now).certificate).checkHost(long)).toBe(long);
});

test('workers that begin at the same time have one authority', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-authority-'));
  try {
    const all = await Promise.all(Array.from({ length: 5 }, () => createHeldAuthority(directory).certificate()));
    expect(new Set(all).size).toBe(1);
    expect(await readdir(directory)).toEqual(['egress-authority.pem']);
  } finally {
    await rm(directory, { recursive: true });
  }
});
