import type { Treatment } from '../../common/fill-in-environment.ts';

/** The options of a sandbox are stored with it, so its credentials stay references. `path` leads to a value below the options. */
export function treatCredentials([key, , inner]: PropertyKey[]): Treatment {
  return key === 'secrets' || (key === 'egress' && inner === 'headers') ? 'check' : 'fill';
}
