/** Minimum and maximum of a sandbox's resources, in files and in the interface. Outside of them, the engine refuses the value or sets no limit. */
export const RANGES = {
  memoryMb: { min: 32, max: 16_777_216 },
  cpus: { min: 0.05, max: 1024 },
  pids: { min: 16, max: 4_194_304 },
  diskMb: { min: 0, max: 1_073_741_824 },
} as const;

/** A label of a host as `LONGSHORE_HOST_LABELS` can have it. */
export const HOST_LABEL = /^[!-+\--~]([ -+\--~]{0,98}[!-+\--~])?$/;

/** The name of an image as engines accept it. */
export const IMAGE = /^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}$/;
