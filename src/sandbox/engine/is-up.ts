import type { ContainerState } from './engine.ts';

/** Whether a container has processes. */
export function isUp(container: Pick<ContainerState, 'status'> | undefined): boolean {
  return container?.status === 'running' || container?.status === 'paused';
}
