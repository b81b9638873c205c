/** Labels on containers and volumes; the reaper goes by them. */
export const LABEL = {
  installation: 'longshore.installation',
  sandbox: 'longshore.sandbox',
  conversation: 'longshore.conversation',
  snapshot: 'longshore.snapshot',
  /** Of containers that are no sandbox: `network-holder`, `probe`, `copy`. Volumes and containers that a copy has made for a sandbox have `copy`, too. */
  role: 'longshore.role',
  /** Of images: the template that they were built for. */
  template: 'longshore.template',
} as const;

export function sandboxLabels(installation: string, sandboxId: string, conversationId: string | undefined): Record<string, string> {
  return {
    [LABEL.installation]: installation,
    [LABEL.sandbox]: sandboxId,
    ...(conversationId === undefined ? {} : { [LABEL.conversation]: conversationId }),
  };
}

/** Labels that a template gives its sandboxes: in a space of their own, where they cannot be taken for ours. */
export function templateLabels(labels: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [`longshore.label.${name}`, value]));
}

export function snapshotVolumeOf(installation: string, snapshotId: string): string {
  return `snapshot.${installation}-${snapshotId}`;
}

export function memoryVolumeOf(installation: string, snapshotId: string): string {
  return `memory.${installation}-${snapshotId}`;
}

/** Names are made from the sandbox's id, so that a retried create meets what the first one made. */
export function containerNameOf(installation: string, sandboxId: string): string {
  return `${installation}-${sandboxId}`;
}

/** Where a checkpoint is tried in another container; no name of a sandbox's container begins like that. */
export function spareNameOf(containerName: string): string {
  return `spare.${containerName}`;
}

export function volumeNameOf(installation: string, sandboxId: string): string {
  return `${installation}-${sandboxId}`;
}

/** Checkpoints are numbered by the generation of the row that asked for them, so none is ever taken for another. */
export function checkpointName(generation: number): string {
  return `rest-${generation}`;
}
