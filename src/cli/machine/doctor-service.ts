import { isIP } from 'node:net';
import { connect, type PeerCertificate } from 'node:tls';
import { inTime } from '../../common/in-time.ts';
import { baseAddress } from '../../common/base-address.ts';
import type { Config } from '../../platform/config.ts';
import { messageOf, type DoctorLine } from './doctor-line.ts';

const TIMEOUT_MS = 5_000;
const DAY_MS = 86_400_000;
/** A certificate that ends earlier should have been renewed. */
const SOON_DAYS = 14;

/** The settings of the HTTP service, and whether it is reached where they say. */
export async function serviceLines(config: Pick<Config, 'LONGSHORE_API_ADDRESS' | 'LONGSHORE_PUBLIC_URL' | 'LONGSHORE_TEMPORAL_LINKS'>): Promise<DoctorLine[]> {
  return [listenLine(config), await publicLine(config)];
}

function listenLine({ LONGSHORE_API_ADDRESS: address }: Pick<Config, 'LONGSHORE_API_ADDRESS'>): DoctorLine {
  const line = { name: 'HTTP service', ok: 'ok' } as const;
  if (isLocal(new URL(`http://${address}`).hostname)) return { ...line, found: `listens at ${address}, for this machine only` };
  return { ...line, found: `listens at ${address}, without TLS`, todo: 'Put TLS in front of it, and let nothing else reach that address' };
}

async function publicLine({ LONGSHORE_PUBLIC_URL: given, LONGSHORE_TEMPORAL_LINKS: links }: Parameters<typeof serviceLines>[0]): Promise<DoctorLine> {
  const name = 'Public address';
  if (given === undefined) {
    return { name, ok: 'ok', found: 'not set (LONGSHORE_PUBLIC_URL): links begin with the address of the request, and Temporal gets none' };
  }
  const [url, inTemporal] = [new URL(baseAddress(given)), links === 'yes' ? '; links to approvals are shown in Temporal' : ''];
  const line = { name, found: `${url.href}, reached${inTemporal}` };
  const todo = 'Correct LONGSHORE_PUBLIC_URL, or see whether longshore serve and what is in front of it run';
  try {
    const answer = await fetch(`${baseAddress(given)}/readyz`, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
    const said = (await answer.text()).slice(0, 60).trim();
    if (!answer.ok || said !== 'ok') return { ...line, ok: 'warning', found: `${url.href}: /readyz answers ${answer.status} ${JSON.stringify(said)}`, todo };
    if (url.protocol === 'https:') return { ...line, ...(await certificateOf(url, line.found)) };
  } catch (error) {
    return { ...line, ok: 'warning', found: `${url.href} is not reached from this machine: ${causeOf(error)}`, todo };
  }
  if (isLocal(url.hostname)) return { ...line, ok: 'ok' };
  return { ...line, ok: 'warning', found: `${line.found}, without TLS`, todo: 'Put TLS in front of it: keys and links pass as they are' };
}

/** `fetch` has checked the certificate; this says when it ends. */
async function certificateOf({ hostname, port }: URL, found: string): Promise<Pick<DoctorLine, 'ok' | 'found' | 'todo'>> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const socket = connect({ host, port: Number(port || 443), ...(isIP(host) === 0 && { servername: host }) });
  try {
    const certificate = await inTime(
      new Promise<PeerCertificate>((resolve, reject) => {
        socket.once('secureConnect', () => resolve(socket.getPeerCertificate()));
        socket.once('error', reject);
      }),
      TIMEOUT_MS,
      () => new Error('the TLS handshake takes too long'),
    );
    const days = Math.floor((Date.parse(certificate.valid_to) - Date.now()) / DAY_MS);
    const told = `${found}; its certificate ends in ${days} days`;
    return days < SOON_DAYS ? { ok: 'warning', found: told, todo: 'Renew the certificate' } : { ok: 'ok', found: told };
  } finally {
    socket.destroy();
  }
}

function isLocal(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}

/** `fetch` says only that it failed. */
function causeOf(error: unknown): string {
  const { cause } = error as { cause?: { message?: string; code?: string } };
  return cause?.message || cause?.code || messageOf(error);
}
