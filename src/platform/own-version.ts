import { readFileSync } from 'node:fs';

/** The version of this package. */
export function ownVersion(): string {
  // The package file is two directories above both the source and the built file.
  const file = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
  return file.version;
}
