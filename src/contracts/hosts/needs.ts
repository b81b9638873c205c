/** The options of a sandbox that say so. */
interface Asked {
  runtime?: string;
  hostLabels?: string[];
}

/** What a host has to have for a sandbox. */
export interface HostNeeds {
  /** Absent when any will do. */
  runtime?: string;
  /** All of them. Absent when none are needed. */
  labels?: string[];
}

export function needsOf({ runtime, hostLabels: labels = [] }: Asked): HostNeeds {
  return { ...(runtime === 'runsc' && { runtime }), ...(labels.length > 0 && { labels }) };
}

export function hasLabels(labels: readonly string[], { hostLabels = [] }: Pick<Asked, 'hostLabels'>): boolean {
  return hostLabels.every((label) => labels.includes(label));
}
