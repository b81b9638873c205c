import { Context } from '@temporalio/activity';
import { KEPT_CHECKPOINTS } from '../../contracts/checkpoints/checkpoint.ts';
import type { SandboxTier } from '../../contracts/conversation.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import { sandboxIdOf } from '../../contracts/ids.ts';
import type { ForkSandboxArgs, ForkSandboxResult } from '../../contracts/forks/fork.ts';
import type { Logger } from '../../platform/log.ts';
import type { Sandboxes } from '../../sandbox/api/host-sandboxes.ts';
import { planFiles, type FilesPlan } from '../../store/conversation/fork-files.ts';
import type { ForkRow } from '../../store/conversation/forks.ts';
import type { Store } from '../../store/store.ts';
import type { ForkCalls } from '../../tool-calls/dependencies.ts';
import { onceEach } from '../../tool-calls/results/once-each.ts';
import { whenRepeated, type ConversationSandboxes } from '../../tool-calls/run/sandbox-of-conversation.ts';
import { whileBeating } from '../checkpoints/while-beating.ts';
import { noteOf } from './fork-note.ts';

/** How often the copy of a sandbox is made again because its conversation went on meanwhile. */
const COPIES = 3;

interface ForkParts {
  store: Store;
  sandboxes: Pick<Sandboxes, 'copyTo' | 'destroy'>;
  opened: ConversationSandboxes;
  forks: ForkCalls;
  log: Logger;
}
interface MadeFiles {
  plan: FilesPlan;
  processes: boolean;
}

/**
 * Makes the sandbox of a fork. The sandbox exists when its files are complete and known to be those that were wanted; what a crash leaves before that has no
 * owner, and the reaper removes it. A fork that cannot have its files is a result, since nothing else of it may go on.
 */
export function createForkSandbox(parts: ForkParts): (args: ForkSandboxArgs) => Promise<ForkSandboxResult<SandboxTier>> {
  const { store } = parts;
  return async (args) => {
    const { conversationId } = args;
    const fork = await store.forks.get(conversationId);
    if (!fork) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
    await tellSource(parts, fork, conversationId);
    try {
      const { plan, processes } = await whileBeating(() => makeFiles(parts, args, fork));
      if (plan.from !== 'empty') await store.forks.inheritCheckpoints(conversationId);
      await noteFiles(store, conversationId, noteOf(fork, plan, processes));
      const checkpointId = plan.from === 'checkpoint' ? plan.checkpoint.checkpointId : undefined;
      const data = { files: fork.files, processes, ...(checkpointId !== undefined && { checkpointId }) };
      await store.events.append(conversationId, onceEach([{ type: 'fork.ready', data }]));
      return { outcome: 'ready', sandboxTier: await tierOf(store, conversationId) };
    } catch (error) {
      if (!isFailure(error) || error.retryable) throw error;
      await removeCopy(parts, conversationId);
      await store.events.append(conversationId, onceEach([{ type: 'fork.failed', data: { problem: error.message } }]));
      return { outcome: 'failed', problem: error.message };
    }
  };
}

async function tierOf({ sandboxes }: Store, conversationId: string): Promise<SandboxTier> {
  const state = (await sandboxes.ofConversation(conversationId))?.state ?? 'none';
  return state === 'creating' || state === 'warm' ? 'running' : state;
}

/** A copy in which the checkpoint could not be restored has files of another moment. */
async function removeCopy({ store, sandboxes, opened }: ForkParts, conversationId: string): Promise<void> {
  const row = await store.sandboxes.ofConversation(conversationId);
  if (row && row.state !== 'destroyed') await sandboxes.destroy(row.sandboxId);
  opened.forget(conversationId);
}

/** The source may be removed by now. */
async function tellSource({ store, forks, log }: ForkParts, { conversationId: source, transcriptSeq }: ForkRow, conversationId: string): Promise<void> {
  try {
    await store.events.append(source, [{ type: 'conversation.forked', data: { conversationId, transcriptSeq }, key: `fork/${conversationId}` }]);
  } catch (error) {
    if (!isFailure(error, 'CONVERSATION_NOT_FOUND')) throw error;
    return;
  }
  const told = forks.tell(source, { conversationId, forks: await store.forks.count(source) });
  // A workflow takes only so many signals. The fork does not depend on what is shown there.
  await told.catch((error: unknown) => log.warn({ conversationId: source, err: error }, 'a fork is not shown in the details of its source'));
}

/**
 * What an earlier attempt has decided holds, but for `live`: the source may have gone on, and then its files come from a checkpoint. So a sandbox that an attempt
 * makes late, after another one has begun, has the wanted files in any case.
 */
async function makeFiles(parts: ForkParts, args: ForkSandboxArgs, fork: ForkRow, copies = 1): Promise<MadeFiles> {
  const { store } = parts;
  const known = await store.sandboxes.ofConversation(args.conversationId);
  if (fork.takenFrom === 'empty') return { plan: { from: 'empty' }, processes: false };
  if (known && fork.takenFrom === 'live') {
    return { plan: { from: 'live', isExact: fork.files === 'exact', mark: 0 }, processes: known.state === 'hibernated' };
  }
  const plan = await decide(parts, args, fork);
  if (plan.from === 'empty') return { plan, processes: false };
  const copied = known ? { processes: false } : await copyFiles(parts, args, fork, plan);
  if (copied === 'outdated') return goOnAfter(parts, args, fork, copies);
  if (plan.from === 'checkpoint') await restore(parts, args, plan.checkpoint);
  return { plan, ...copied };
}

async function goOnAfter(parts: ForkParts, args: ForkSandboxArgs, fork: ForkRow, copies: number): Promise<MadeFiles> {
  if (copies < COPIES) return makeFiles(parts, args, (await parts.store.forks.get(args.conversationId)) ?? fork, copies + 1);
  const problem = 'it goes on all the time';
  throw failure('FORK_REFUSED', { conversationId: fork.conversationId, problem, fix: 'Fork with files now, or at an earlier step' });
}

async function decide(parts: ForkParts, { conversationId }: ForkSandboxArgs, fork: ForkRow): Promise<FilesPlan> {
  const { store } = parts;
  const isOpen = fork.takenFrom === undefined || fork.takenFrom === 'live';
  const plan = isOpen ? await planFiles(store, fork) : await checkpointOf(parts, fork);
  await store.forks.take(conversationId, plan.from === 'checkpoint' ? plan.checkpoint.checkpointId : plan.from);
  return plan;
}

async function checkpointOf({ store }: ForkParts, { conversationId, takenFrom = '' }: ForkRow): Promise<FilesPlan> {
  const checkpoint = (await store.forks.checkpoints(conversationId)).find(({ checkpointId }) => checkpointId === takenFrom);
  if (!checkpoint) throw failure('CHECKPOINT_NOT_FOUND', { checkpoint: takenFrom, conversationId });
  return { from: 'checkpoint', checkpoint };
}

/** `outdated`: the source went on while its files were copied, and they are not those of the moment any more. */
async function copyFiles(
  { store, sandboxes }: ForkParts,
  { conversationId, tenantId }: ForkSandboxArgs,
  fork: ForkRow,
  plan: Exclude<FilesPlan, { from: 'empty' }>,
): Promise<{ processes: boolean } | 'outdated'> {
  const source = await store.sandboxes.ofConversation(fork.conversationId);
  if (!source) throw failure('FORK_FILES_UNKNOWN', { conversationId: fork.conversationId, problem: 'it has no sandbox now', places: 'nowhere' });
  const isWanted = async () => {
    if (plan.from !== 'live' || fork.files === 'now') return true;
    const { isChanging, mark } = await store.forks.activity(fork.conversationId);
    return !isChanging && mark === plan.mark;
  };
  const copied = await sandboxes.copyTo(source.sandboxId, {
    owner: { sandboxId: sandboxIdOf(conversationId), conversationId, tenantId },
    processes: plan.from === 'live',
    mayMove: true,
    isWanted,
    ...whenRepeated(store, fork.conversationId, Context.current().info.attempt > 1),
  });
  return copied ?? 'outdated';
}

async function restore({ opened }: ForkParts, args: ForkSandboxArgs, checkpoint: { number: number; at: string }): Promise<void> {
  const { handle } = await opened.open(args);
  await handle.restoreCheckpoint(checkpoint, { key: `fork.${args.conversationId}`, keep: KEPT_CHECKPOINTS + 2 });
}

/** Where it belongs: after everything that the fork has from its source, and before its own first message. */
async function noteFiles({ forks, transcript }: Store, conversationId: string, text: string | undefined): Promise<void> {
  if (text === undefined) return;
  const last = (await forks.outline(conversationId)).at(-1);
  if (last) await transcript.append(conversationId, last.turnId, undefined, `fork/${conversationId}`, { role: 'note', text });
}
