import { PAGES } from './checkpoints.ts';

export type PlaceKind = 'volume' | 'checkpoint';

/**
 * Scripts of copy jobs. Their arguments: the source, the target, and the path of the target's pages as the engine sees it. The pages of a checkpoint may be
 * in a directory beside it, with a link in their place that is broken inside a job. In a volume or an archive the pages are a regular file of the checkpoint.
 */
export function copyScript(from: PlaceKind, to: PlaceKind): string {
  return [
    'mkdir -p "$2"',
    'cp -a "$1/." "$2/"',
    ...(from === 'checkpoint' ? [`if [ -L "$2/pages.img" ]; then rm "$2/pages.img" && cp -a "$1${PAGES}/pages.img" "$2/"; fi`] : []),
    ...finish(to),
  ].join(' && ');
}

export function packScript(from: PlaceKind): string {
  const tar = 'tar --numeric-owner --sparse --use-compress-program="gzip -1" -cf -';
  if (from === 'volume') return `${tar} -C "$1" .`;
  // tar excludes the link `./pages.img` and adds the file `pages.img`: the two names differ.
  return `if [ -L "$1/pages.img" ]; then ${tar} -C "$1" --exclude=./pages.img . -C "$1${PAGES}" pages.img; else ${tar} -C "$1" .; fi`;
}

export function unpackScript(to: PlaceKind): string {
  return ['mkdir -p "$2"', 'tar -C "$2" --numeric-owner --same-owner -p -xzf -', ...finish(to)].join(' && ');
}

/** Moves the pages beside the checkpoint, where the engine does not copy them on a wake. Refuses a link from the source, because it may lead anywhere. */
function finish(to: PlaceKind): string[] {
  const apart = `if [ -f "$2/pages.img" ]; then mkdir -p "$2${PAGES}" && mv "$2/pages.img" "$2${PAGES}/" && ln -s "$3" "$2/pages.img"; fi`;
  return [...(to === 'checkpoint' ? ['[ ! -L "$2/pages.img" ]', apart] : []), 'sync -f "$2"'];
}
