// Each word is scanned once, from its beginning: otherwise, long words of an error would take quadratic time and block the event loop.
const SECRETS: [RegExp, string][] = [
  [/\b(\w+:\/\/[^\s:/@]+:)[^\s@/]+@/g, '$1[redacted]@'],
  [/\b(bearer\s+)[\w.~+/-]{8,}=*/gi, '$1[redacted]'],
  [/\b(sk|pk|rk|ghp|gho|xox[abp])[-_][\w-]{12,}/g, '$1-[redacted]'],
  [/\b((?:api[-_]?key|token|password|secret)["']?\s*[=:]\s*["']?)[^\s"',;&]{6,}/gi, '$1[redacted]'],
];

/** Removes from an error's text what looks like a credential: passwords in URLs, bearer tokens, provider keys. */
export function redact(text: string): string {
  return SECRETS.reduce((clean, [pattern, replacement]) => clean.replaceAll(pattern, replacement), text);
}
