/** Classes of turns, the highest first. */
export const PRIORITIES = ['high', 'normal', 'low'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** As Temporal numbers them, from 1, the highest, to 5. Absent for its default. */
const TEMPORAL_KEYS: Record<Priority, number | undefined> = { high: 2, normal: undefined, low: 4 };

export function temporalPriority(priority: Priority = 'normal'): { priorityKey?: number } {
  const priorityKey = TEMPORAL_KEYS[priority];
  return priorityKey === undefined ? {} : { priorityKey };
}
