import { runCommand } from '../platform/run-command.ts';
import { TEMPLATE_IMAGES } from '../definitions/templates/template-image.ts';

/** No build takes so long. Workers in containers of their own share the engine and no lock, so that another one may be building. Milliseconds. */
const OLD_MS = 24 * 60 * 60_000;
/** Behind the name of the template. */
const REST = /^-[0-9a-f]{16}-(?:base|own)$/;

/** Names of the images that are made on the way to an image, and removed at the end. The final image keeps their layers. */
export function namesOnTheWay(image: string): { marked: string; own: string } {
  return { marked: `${image}-base`, own: `${image}-own` };
}

/** Removes what builds of a template have left that were killed more than a day ago. Their names are those of their definition, which may have changed since. */
export async function removeLeftovers(template: string, { olderThanMs = OLD_MS } = {}): Promise<void> {
  const first = `${TEMPLATE_IMAGES}${template}`;
  const { stdout } = await runCommand('docker', ['image', 'ls', '--filter', `reference=${first}-*`, '--format', '{{.Repository}}:{{.Tag}}']);
  for (const image of stdout.split('\n').filter((name) => name.startsWith(first) && REST.test(name.slice(first.length)))) {
    const { stdout: named } = await runCommand('docker', ['image', 'inspect', '--format', '{{.Metadata.LastTagTime.Unix}}', image]);
    const seconds = Number(named.trim());
    // Not of an engine that does not know when it was named: that says the year 1.
    if (seconds > 0 && Date.now() - seconds * 1000 > olderThanMs) await runCommand('docker', ['image', 'rm', image]);
  }
}
