import { PRIORITIES, type Priority } from '../../../../src/contracts/places/priority.ts';
import type { PlacedTurn, TurnLimits } from '../../../../src/store/conversation/turn-places.ts';
import type { Store } from '../../../../src/store/store.ts';
import { newConversation, newId } from '../../support.ts';

export interface Asking {
  conversationId: string;
  turnId: string;
  tenantId: string;
  agentId: string;
  agentMost?: number;
  priority?: Priority;
  parentId?: string;
}

export async function turnOf(store: Store, tenantId: string, more: Partial<Asking> = {}): Promise<Asking> {
  return { conversationId: await newConversation(store, { tenantId }), turnId: newId('turn'), tenantId, agentId: 'fixer', ...more };
}

export const nameOf = ({ conversationId, turnId }: { conversationId: string; turnId: string }) => `${conversationId} ${turnId}`;
export const namesOf = (placed: PlacedTurn[]) => placed.map(nameOf);
export const HELD = { place: { outcome: 'held' }, others: [] };

export async function endAll(store: Store): Promise<void> {
  for (const { conversationId } of await store.conversations.listOpen({ afterId: '', limit: 1000 })) await store.conversations.close(conversationId, {});
  expect(await store.turnPlaces.sweep({})).toEqual([]);
}

export interface Row extends Asking {
  state: 'held' | 'waiting' | 'away';
  position: number;
}
export const AGENTS: Record<string, number | undefined> = { rare: 1, fixer: undefined };

const classOf = ({ priority = 'normal' }: Row) => PRIORITIES.indexOf(priority);

/** The rules, for one that does everything in order. */
export class Rules {
  readonly rows: Row[] = [];
  readonly rounds = new Map<string, number>();
  readonly places = new Map<string, number>();
  limits: TurnLimits;
  count = 0;
  constructor(limits: TurnLimits) {
    this.limits = limits;
  }

  running(isMeant: (row: Row) => boolean): number {
    return this.rows.filter((row) => row.state === 'held' && isMeant(row)).length;
  }
  fits(row: Row): boolean {
    const { tenant = Infinity, installation = Infinity } = this.limits;
    return (
      this.running(({ tenantId }) => tenantId === row.tenantId) < tenant &&
      this.running(({ agentId }) => agentId === row.agentId) < (row.agentMost ?? Infinity) &&
      this.running(() => true) < installation
    );
  }
  give(): string[] {
    const given: string[] = [];
    for (;;) {
      const fitting = this.rows.filter((row) => row.state === 'waiting' && this.fits(row));
      const [first] = fitting.toSorted((a, b) => (this.rounds.get(a.tenantId) ?? 0) - (this.rounds.get(b.tenantId) ?? 0) || a.position - b.position);
      if (!first) return given;
      const places = this.places.get(first.tenantId) ?? 0;
      const ofTenant = fitting.filter(({ tenantId }) => tenantId === first.tenantId);
      const [next = first] = places % 4 === 3 ? [] : ofTenant.toSorted((a, b) => classOf(a) - classOf(b) || a.position - b.position);
      this.places.set(next.tenantId, places + 1);
      next.state = 'held';
      this.rounds.set(next.tenantId, ++this.count);
      given.push(nameOf(next));
    }
  }
}
