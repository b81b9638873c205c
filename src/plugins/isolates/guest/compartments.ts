import { pluginOfExports } from '../../api/plugin-of-exports.ts';
import type { Grants } from '../guest-protocol.ts';
import { createGlobals, type Outside } from './globals.ts';

/** One evaluation of the plugin's code, with globals and module state of its own. */
export interface Realm {
  plugin: Record<string, unknown>;
  /** Ids of the calls that run in it. */
  active: number[];
  /** Number of the plugin's own functions that run in it. */
  hooks: number;
  /** Its `load` has run. */
  loaded: Promise<unknown>;
  /** Ends its timers; it is not used after this. */
  end: () => void;
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
  const drop = (key: string, realm: Realm): void => {
    if (realms.get(key) === realm) realms.delete(key);
    realm.end();
  };
  const make = (grants: Grants): Realm => {
    const realm: Realm = { plugin: {}, active: [], hooks: 0, loaded: Promise.resolve(), end: () => undefined };
    const globals = createGlobals(grants, outsideOf(realm));
    realm.end = globals.end;
    try {
      const compartment = new Compartment({ globals: globals.names, __options__: true });
      realm.plugin = pluginOfExports(compartment.evaluate(code) as Record<string, unknown> | undefined);
      attach(realm);
    } catch (error) {
      realm.end();
      throw error;
    }
    realm.loaded = load(realm);
    return realm;
  };
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
    const realm = make(grants);
    realms.set(key, realm);
    // Removed, so that another call tries again.
    realm.loaded.catch(() => drop(key, realm));
    for (const [other, old] of realms) {
      if (realms.size <= MAX_REALMS) break;
      if (old.active.length + old.hooks === 0 && other !== key) drop(other, old);
    }
    return realm;
  };
  return { realmFor, all: () => [...realms.values()] };
}
