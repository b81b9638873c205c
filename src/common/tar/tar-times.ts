/** The last second that has a place in the header of a tar: tar-stream writes a later or a negative one as no number. */
const LATEST = 2 ** 31 - 1;

/** The time of a file for the header of an entry. One that has no place there is in an extended header, which readers prefer. */
export function tarTime(mtime: Date): { mtime: Date; pax?: { mtime: string } } {
  const seconds = Math.floor(mtime.getTime() / 1000);
  const isPlaced = seconds >= 0 && seconds <= LATEST;
  if (isPlaced || !Number.isFinite(seconds)) return { mtime: isPlaced ? mtime : new Date(0) };
  return { mtime: new Date(seconds < 0 ? 0 : LATEST * 1000), pax: { mtime: String(seconds) } };
}

/** The time that an entry says; undefined where that is no time. */
export function timeIn({ mtime, pax }: { mtime?: Date | undefined; pax?: unknown }): Date | undefined {
  const extended = (pax as { mtime?: unknown } | null | undefined)?.mtime;
  const time = extended === undefined ? mtime : new Date(Number(extended) * 1000);
  return time && Number.isFinite(time.getTime()) ? time : undefined;
}
