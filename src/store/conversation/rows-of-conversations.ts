import type { Announcer } from '../database/announcer.ts';
import type { Database } from '../database/database.ts';
import { createCheckpoints, type Checkpoints } from './checkpoints.ts';
import { createForks, type Forks } from './forks.ts';
import { createImports, type Imports } from './imports.ts';
import { createMedia, type MediaRows } from './media.ts';
import { createPlans, type Plans } from './plans.ts';
import { createPluginTimers, type PluginTimers } from './plugin-timers.ts';
import { createSkillRows, type SkillRows } from './skills.ts';
import { createRoomQueue, type RoomQueue } from './room-queue.ts';
import { createSandboxUses, type SandboxUses } from './sandbox-uses.ts';
import { createTreePlaces, type TreePlaces } from './tree-places.ts';
import { createTurnPlaces, type TurnPlaces } from './turn-places.ts';

/** What hangs on conversations. */
export interface RowsOfConversations {
  checkpoints: Checkpoints;
  forks: Forks;
  imports: Imports;
  media: MediaRows;
  plans: Plans;
  /** Those that wait for memory of hosts. */
  roomQueue: RoomQueue;
  pluginTimers: PluginTimers;
  sandboxUses: SandboxUses;
  skills: SkillRows;
  treePlaces: TreePlaces;
  turnPlaces: TurnPlaces;
}

export function createRowsOfConversations(parts: { database: Database; announcer: Announcer }): RowsOfConversations {
  return {
    checkpoints: createCheckpoints(parts),
    forks: createForks(parts),
    imports: createImports(parts),
    media: createMedia(parts),
    plans: createPlans(parts),
    roomQueue: createRoomQueue(parts),
    pluginTimers: createPluginTimers(parts),
    sandboxUses: createSandboxUses(parts),
    skills: createSkillRows(parts),
    treePlaces: createTreePlaces(parts),
    turnPlaces: createTurnPlaces(parts),
  };
}
