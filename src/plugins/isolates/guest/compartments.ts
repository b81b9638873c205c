import { pluginOfExports } from '../../api/plugin-of-exports.ts';
import type { Grants } from '../guest-protocol.ts';
import { createGlobals, type Outside } from './globals.ts';

/** One evaluation of the plugin's code, with globals and module state of its own. */
export interface Realm {
  plugin: Record<string, unknown>;
  /** Ids of the calls that run in it. */
  active: number[];
  /** Its `load` has run. */
  loaded: Promise<unknown>;
}

export interface Compartments {
  realmFor: (conversation: string, grants: Grants) => Realm;
  all: () => Realm[];
}

/** What the caller does for each compartment. */
interface Ways {
  outsideOf: (realm: Realm) => Outside;
  /** Called before any function of the plugin. */
  attach: (realm: Realm) => void;
  load: (realm: Realm) => Promise<unknown>;
}

const MAX_REALMS = 64;

/**
 * The compartments of one plugin: for each conversation, one for each set of grants of its tools. The least recently used are dropped, so state in the
 * plugin's variables is temporary. State that must last belongs in the store.
 */
export function createCompartments(code: string, { outsideOf, attach, load }: Ways): Compartments {
  const realms = new Map<string, Realm>();
  const realmFor = (conversation: string, grants: Grants): Realm => {
    const { time, random, network, files } = grants;
    const key = `${Number(time)}${Number(random)}${Number(network)}${Number(files)} ${conversation}`;
    const known = realms.get(key);
    if (known) {
      // A Map keeps the order of insertion: the least recently used come first.
      realms.delete(key);
      realms.set(key, known);
      return known;
    }
    const realm: Realm = { plugin: {}, active: [], loaded: Promise.resolve() };
    const compartment = new Compartment({ globals: createGlobals(grants, outsideOf(realm)), __options__: true });
    realm.plugin = pluginOfExports(compartment.evaluate(code) as Record<string, unknown> | undefined);
    attach(realm);
    realm.loaded = load(realm);
    realms.set(key, realm);
    // Removed, so that another call tries again.
    realm.loaded.catch(() => realms.get(key) === realm && realms.delete(key));
    for (const [other, { active }] of realms) {
      if (realms.size <= MAX_REALMS) break;
      if (active.length === 0 && other !== key) realms.delete(other);
    }
    return realm;
  };
  return { realmFor, all: () => [...realms.values()] };
}
