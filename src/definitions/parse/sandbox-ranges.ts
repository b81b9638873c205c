/** What a sandbox may be given at least and at most, in files and in the interface. Beyond them the engine refuses, or knows no limit. */
export const RANGES = {
  memoryMb: { min: 32, max: 16_777_216 },
  cpus: { min: 0.05, max: 1024 },
  pids: { min: 16, max: 4_194_304 },
  diskMb: { min: 0, max: 1_073_741_824 },
} as const;

/** The name of an image as engines take it. */
export const IMAGE = /^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}$/;
