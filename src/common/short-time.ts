/** Formats an ISO 8601 time in UTC as `2026-01-31 12:00:00`. */
export function shortTime(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ');
}
