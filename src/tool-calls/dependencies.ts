import type { ApprovalLink, ProposedCall } from '../contracts/activities.ts';
import type { Agent } from '../contracts/agent.ts';
import type { ForkedSignal } from '../contracts/forks/fork.ts';
import type { ServerAsks } from '../contracts/questions/question.ts';
import type { Parent, Share, SubAgentEnd } from '../contracts/sub-agent.ts';
import type { ScheduledBy } from '../contracts/schedule.ts';
import type { Logger } from '../platform/log.ts';
import type { CallMetrics } from '../metrics/worker-metrics.ts';
import type { Models } from '../models/create-models.ts';
import type { PluginServices } from '../plugins/api/plugin-services.ts';
import type { Registry } from '../plugins/registry/registry.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';
import type { PlacedTurn, TurnLimits } from '../store/conversation/turn-places.ts';
import type { Store } from '../store/store.ts';
import type { SkillShelf } from './skills/skill-shelf.ts';

/** Starts a conversation, or finds the one with that id. */
export type StartConversation = (options: {
  agent: string;
  user: string;
  tenant: string;
  message: string;
  conversationId: string;
  unattended: true;
  closeWhenDone: boolean;
  scheduledBy: ScheduledBy;
}) => Promise<{ conversationId: string }>;

/** What a worker does with the conversations of sub-agents. Each call may be repeated. */
export interface SubAgentCalls {
  /** Starts the conversation, or finds the one with that id. */
  start(options: {
    conversationId: string;
    agent: string;
    user: string;
    tenant: string;
    message: string;
    parent: Parent;
    share: Share;
    unattended: boolean;
  }): Promise<void>;
  /** Sends a message; the same id is one message. @throws CONVERSATION_CLOSED */
  send(conversationId: string, messageId: string, text: string): Promise<void>;
  close(conversationId: string): Promise<void>;
  pause(conversationId: string, mode: 'step' | 'now'): Promise<void>;
  resume(conversationId: string): Promise<void>;
  tellParent(conversationId: string, end: SubAgentEnd): Promise<void>;
  /** Says that a call, which waited for a place in the tree, has one. */
  tellOfPlace(conversationId: string, callId: string): Promise<void>;
}

/** What a worker does with the sources of forks. */
export interface ForkCalls {
  /** Tells the workflow of a conversation that it has been forked. One that has ended is told nothing. */
  tell(sourceId: string, fork: ForkedSignal): Promise<void>;
}

/** What a worker tells conversations of questions of servers. */
export interface QuestionCalls {
  /** Says that the server of a call asks, or that it no longer wants the answer. May be repeated. */
  tell(conversationId: string, asks: ServerAsks<ProposedCall>): Promise<void>;
}

/** How many turns may run at the same time, and how a worker tells a conversation that its turn may. */
export interface PlaceCalls {
  limits: TurnLimits;
  /** May be repeated. A conversation that has ended is told nothing. */
  tell(turn: PlacedTurn): Promise<void>;
}

/** Where people reach the HTTP service, for the details of conversations in Temporal. */
export interface ServiceLinks {
  url: string;
  /** Makes a link to an approval; `expiresAtMs` is 0 when the approval waits without limit. Absent: Temporal gets no such links. */
  toApproval?: (approval: { conversationId: string; callId: string; hash: string; expiresAtMs: number }) => Promise<ApprovalLink | undefined>;
}

/** Everything that the activities of a worker use. */
export interface ActivityDependencies {
  store: Store;
  sandboxes: Sandboxes;
  registry: Registry;
  /** By agent id. */
  agents: ReadonlyMap<string, Agent>;
  /** Absent: no agent has skills. */
  skills?: Pick<SkillShelf, 'lookUp'>;
  models: Models;
  services: PluginServices;
  startConversation: StartConversation;
  subAgents: SubAgentCalls;
  questions: QuestionCalls;
  forks: ForkCalls;
  places: PlaceCalls;
  /** Absent when it is not known where people reach the HTTP service. */
  service?: ServiceLinks | undefined;
  log: Logger;
  /** Receives figures about tool calls; absent when they are not collected. */
  metrics?: CallMetrics;
}
