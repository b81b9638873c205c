/** Labels on containers, volumes and images. The reaper finds containers and volumes by them. */
export const LABEL = {
  installation: 'longshore.installation',
  sandbox: 'longshore.sandbox',
  conversation: 'longshore.conversation',
  snapshot: 'longshore.snapshot',
  /** The number of a container in its sandbox's row, see `isCurrent`. A volume has that of the container for which it was made. */
  fence: 'longshore.fence',
  /** Of containers that are not sandboxes: `network-holder`, `probe`, `copy`. Volumes and containers that a copy made for a sandbox also have `copy`. */
  role: 'longshore.role',
  /** On images: the template that they were built for. */
  template: 'longshore.template',
} as const;

interface Labelled {
  sandboxId: string;
  conversationId?: string | undefined;
  fence: number;
}

export function sandboxLabels(installation: string, { sandboxId, conversationId, fence }: Labelled): Record<string, string> {
  return {
    [LABEL.installation]: installation,
    [LABEL.sandbox]: sandboxId,
    ...(conversationId !== undefined && { [LABEL.conversation]: conversationId }),
    ...(fence > 0 && { [LABEL.fence]: String(fence) }),
  };
}

/** The number on a container or volume; 0 when it was made before there were numbers. */
export function fenceOf(labels: Record<string, string>): number {
  return Number(labels[LABEL.fence] ?? 0);
}

/** Labels that a template gives its sandboxes. The prefix keeps them apart from Longshore's own labels. */
export function templateLabels(labels: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [`longshore.label.${name}`, value]));
}

export function snapshotVolumeOf(installation: string, snapshotId: string): string {
  return `snapshot.${installation}-${snapshotId}`;
}

export function memoryVolumeOf(installation: string, snapshotId: string): string {
  return `memory.${installation}-${snapshotId}`;
}

/** The name depends only on the sandbox's id, so that a retried create finds the container of the first attempt. */
export function containerNameOf(installation: string, sandboxId: string): string {
  return `${installation}-${sandboxId}`;
}

/** The name of the new container in which a checkpoint is tried. No sandbox's container has a name with this prefix. */
export function spareNameOf(containerName: string): string {
  return `spare.${containerName}`;
}

export function volumeNameOf(installation: string, sandboxId: string): string {
  return `${installation}-${sandboxId}`;
}

/** The name contains the generation of the row that the checkpoint is made for, so each checkpoint has its own name. */
export function checkpointName(generation: number): string {
  return `rest-${generation}`;
}

/** The generation in the name of a checkpoint; undefined when it is not one of those. */
export function generationOf(checkpoint: string): number | undefined {
  const digits = /^rest-(\d+)$/.exec(checkpoint)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
