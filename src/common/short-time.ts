/** As in `2026-01-31 12:00:00`, in UTC. */
export function shortTime(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ');
}
