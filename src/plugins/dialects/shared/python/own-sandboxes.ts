import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { EgressRule, SandboxOptions } from '../../../../contracts/agent.ts';
import { failure, isFailure } from '../../../../contracts/errors.ts';
import type { WorkerHandle } from '../../../../sandbox/api/sandbox.ts';
import type { SandboxRow } from '../../../../store/sandbox-rows.ts';
import type { OwnSandbox } from '../../../api/own-sandbox.ts';
import type { PluginSandboxes } from '../plugin-dialect.ts';

export interface OwnSandboxes extends OwnSandbox {
  /** Replaces the hosts that all sandboxes of the plugin on this host may reach, also in those that run. @throws the first failure, after all of them */
  setNetwork(hosts: readonly string[]): Promise<void>;
  /** Works in the sandbox of a tenant, which runs, without keeping it awake: it rests when it has not been called for some time. */
  visit(tenantId: string, work: (handle: WorkerHandle) => Promise<void>): Promise<void>;
  /** Tells something to each sandbox that this process has opened and that can be reached. The others are told with their next call. */
  tell(say: (handle: WorkerHandle) => Promise<void>): Promise<void>;
}

interface Parts {
  pluginId: string;
  given: Omit<PluginSandboxes, 'timers'>;
  /** Puts the plugin's files into a sandbox. */
  prepare: (handle: WorkerHandle) => Promise<void>;
  /** Longest time limit of its tools, in milliseconds. */
  longestMs: () => number;
}

/** What a plugin may use. */
export const LIMITS: SandboxOptions = { memoryMb: 1024, cpus: 1, pids: 256, diskMb: 4096 };
/** A sandbox is not stopped so soon after the longest call. Milliseconds. */
const MARGIN_MS = 60_000;
/** Kept longer by this part of the time, so that a sandbox in use is not prolonged by each call. */
const AHEAD = 0.1;
const NOT_TOLD = 'a sandbox of a plugin could not be told of its settings; its next call brings them';

/** Id of a plugin's sandbox; derived, so that every worker finds the same one. */
export function ownSandboxIdOf(pluginId: string, tenantId: string): string {
  return `plugin-${createHash('sha256')
    .update(JSON.stringify([pluginId, tenantId]))
    .digest('hex')
    .slice(0, 32)}`;
}

export function createOwnSandboxes({ pluginId, given, prepare, longestMs }: Parts): OwnSandboxes {
  const { sandboxes, rows, hostId } = given;
  const held = new Map<string, WorkerHandle>();
  let rules: EgressRule[] = [];
  const lifetime = createLifetime(given, longestMs);
  const open = async (tenantId: string, { isBegun, prolongs, leaves }: Opening) => {
    const sandboxId = ownSandboxIdOf(pluginId, tenantId);
    const row = await rows.get(sandboxId);
    if (row?.state === 'destroyed') await startAnew(sandboxId, tenantId, isBegun);
    else if (row && prolongs) await lifetime.prolong(sandboxId);
    const known = held.get(tenantId);
    if (known && row && isOfUse(row, { rules, leaves })) return { handle: known, held: true };
    const owner = { sandboxId, tenantId, ...lifetime.all(), mayMove: leaves };
    const { handle } = await sandboxes.open(owner, { ...LIMITS, egress: rules, onTtl: 'stop', metadata: { plugin: pluginId } });
    await applyNetwork(sandboxId);
    await prepare(handle);
    held.set(tenantId, handle);
    if (!row || row.state === 'destroyed') lifetime.begin(sandboxId);
    return { handle, held: false };
  };
  return {
    open: (tenantId, isBegun, mayMove = false) => open(tenantId, { isBegun, prolongs: true, leaves: mayMove && sandboxes.isDraining?.() === true }),
    async find(tenantId) {
      const row = await rows.get(ownSandboxIdOf(pluginId, tenantId));
      return row && row.state !== 'destroyed' ? agesOf(row) : undefined;
    },
    forget: (tenantId) => void held.delete(tenantId),
    async visit(tenantId, work) {
      try {
        await work(held.get(tenantId) ?? (await open(tenantId, { isBegun: false, prolongs: false, leaves: false })).handle);
      } catch (error) {
        // Its container may have died since it was used last.
        held.delete(tenantId);
        throw error;
      }
    },
    async tell(say) {
      const results = await Promise.allSettled([...held.values()].map(say));
      for (const result of results) if (result.status === 'rejected') given.log.info({ plugin: pluginId, err: result.reason as unknown }, NOT_TOLD);
    },
    async setNetwork(next) {
      rules = rulesOf(next);
      const failures: unknown[] = [];
      for (const { sandboxId, tenantId, state } of await rows.list({ hostId })) {
        if (state === 'destroyed' || sandboxId !== ownSandboxIdOf(pluginId, tenantId)) continue;
        // One that has just been removed reaches nothing.
        await applyNetwork(sandboxId).catch((error: unknown) => isFailure(error, 'SANDBOX_DESTROYED') || failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    },
  };

  /** An operator has removed the sandbox. */
  async function startAnew(sandboxId: string, tenantId: string, isBegun: boolean): Promise<void> {
    held.delete(tenantId);
    // What the call started, if anything, is gone with the files.
    if (isBegun) throw failure('SANDBOX_LOST', { sandboxId, problem: 'it was removed, and with it the record of its commands' });
    await rows.remove(sandboxId);
  }

  async function applyNetwork(sandboxId: string): Promise<void> {
    const row = await rows.get(sandboxId);
    if (row && isGranted(row, rules)) return;
    await sandboxes.setEgress?.(sandboxId, rules);
  }
}

interface Opening {
  isBegun: boolean;
  prolongs: boolean;
  /** This host is being drained, and the caller can go on on another one. */
  leaves: boolean;
}

/** One that was taken from a host which is being drained is not to come back there. */
function isOfUse(row: SandboxRow, { rules, leaves }: { rules: EgressRule[]; leaves: boolean }): boolean {
  return row.state !== 'lost' && isGranted(row, rules) && !(leaves && row.state === 'archived');
}

function isGranted({ options }: Pick<SandboxRow, 'options'>, rules: EgressRule[]): boolean {
  return isDeepStrictEqual((options as SandboxOptions).egress, rules);
}

/** How long sandboxes are kept: while they are called, and for the idle time after that. */
function createLifetime({ rows, idleMs }: Parts['given'], longestMs: () => number) {
  const prolonged = new Map<string, number>();
  const keepMs = () => Math.max(idleMs, longestMs() + MARGIN_MS);
  const ttlMs = () => Math.round(keepMs() * (1 + AHEAD));
  return {
    /** For a sandbox that is opened; nothing where plugins do not rest. */
    all: () => (idleMs > 0 ? { ttlMs: ttlMs() } : {}),
    /** Notes that a sandbox has just been made, and has all of its time. */
    begin: (sandboxId: string) => void prolonged.set(sandboxId, performance.now()),
    async prolong(sandboxId: string) {
      const now = performance.now();
      if (idleMs === 0 || now - (prolonged.get(sandboxId) ?? -Infinity) < keepMs() * AHEAD) return;
      await rows.prolong(sandboxId, ttlMs());
      prolonged.set(sandboxId, now);
    },
  };
}

function agesOf({ createdAt, filesLostAt }: SandboxRow): { createdAt: string; filesLostAt?: string } {
  return { createdAt, ...(filesLostAt !== undefined && { filesLostAt }) };
}

/** A grant without a port is for the ports of the web: a connection of a sandbox needs a port that is named. */
function rulesOf(hosts: readonly string[]): EgressRule[] {
  const names = hosts.map((granted) => granted.toLowerCase()).toSorted();
  return names.map((granted) => {
    const [host = '', port] = granted.split(':');
    return { host, ...(port !== undefined && { ports: [Number(port)] }) };
  });
}
