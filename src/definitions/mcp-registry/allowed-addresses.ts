import { readAddresses } from '../../network/read-addresses.ts';
import type { Config } from '../../platform/config.ts';

const SETTING = 'LONGSHORE_PLUGIN_ADDRESSES';

/** The addresses that are not public, and that the operator allows all the same. @throws CONFIG_INVALID */
export function allowedAddresses({ LONGSHORE_PLUGIN_ADDRESSES: text }: Pick<Config, typeof SETTING>): { allowAddresses: string[]; setting: string } {
  return { allowAddresses: readAddresses(SETTING, text), setting: SETTING };
}
