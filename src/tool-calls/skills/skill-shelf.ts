import { RecentMap } from '../../common/recent-map.ts';
import type { PinnedSkill, Skill, SkillText } from '../../contracts/skills/skill.ts';
import type { PluginConversation } from '../../plugins/api/plugin.ts';
import type { Store } from '../../store/store.ts';

/** The skills of conversations as one worker knows them. */
export interface SkillShelf {
  /** The skills of a conversation: those that its agent had when they were first asked for. None when its agent has none now. */
  of(this: void, conversation: Pick<PluginConversation, 'conversationId' | 'agentId'>): Promise<PinnedSkill[]>;
  /** The same, without what this worker remembers: that may be of an earlier conversation with the same id, which was removed. */
  lookUp(this: void, conversation: Pick<PluginConversation, 'conversationId' | 'agentId'>): Promise<PinnedSkill[]>;
  text(this: void, digest: string): Promise<SkillText | undefined>;
  file(this: void, digest: string, path: string): Promise<Buffer | undefined>;
}

/** Conversations that are remembered: what is decided does not change. Each model call looks it up, and what it does then uses that. */
const MOST_REMEMBERED = 10_000;
/** A skill that is stored is marked as used again after this time; unused ones are removed only after many days. */
const MARK_AGAIN_MS = 86_400_000;

/** @param loaded the skills of each agent, as this worker found them at its start */
export function createSkillShelf({ store, loaded }: { store: Pick<Store, 'skills'>; loaded: ReadonlyMap<string, Skill[]> }): SkillShelf {
  const remembered = new RecentMap<string, PinnedSkill[]>(MOST_REMEMBERED);
  const kept = new Map<string, number>();
  return {
    of: async (conversation) => (loaded.has(conversation.agentId) && remembered.get(conversation.conversationId)) || lookUp(conversation),
    lookUp,
    text: (digest) => store.skills.text(digest),
    file: (digest, path) => store.skills.file(digest, path),
  };

  async function lookUp({ conversationId, agentId }: Pick<PluginConversation, 'conversationId' | 'agentId'>): Promise<PinnedSkill[]> {
    const skills = loaded.get(agentId);
    if (!skills) return [];
    const known = (await store.skills.pinned(conversationId)) ?? (await decide(conversationId, skills));
    remembered.set(conversationId, known);
    return known;
  }

  /** Skills are stored before a conversation has them, so that every worker finds what it has. */
  async function decide(conversationId: string, skills: Skill[]): Promise<PinnedSkill[]> {
    for (const skill of skills) {
      const keptAt = kept.get(skill.digest);
      if (keptAt !== undefined && performance.now() - keptAt < MARK_AGAIN_MS) continue;
      await store.skills.keep(skill);
      kept.set(skill.digest, performance.now());
    }
    return store.skills.pin(
      conversationId,
      skills.map(({ name, description, digest }) => ({ name, description, digest })),
    );
  }
}
