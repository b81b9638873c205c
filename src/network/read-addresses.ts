import { failure } from '../contracts/errors.ts';
import { createAddressPolicy } from './address-policy.ts';

/**
 * Reads a setting with addresses and ranges that are allowed although they are not public, separated by commas.
 * @param name name of the setting, for the message.
 * @throws CONFIG_INVALID
 */
export function readAddresses(name: string, text = ''): string[] {
  const allowAddresses = text.split(/[\s,]+/).filter((address) => address !== '');
  try {
    createAddressPolicy({ allowAddresses });
  } catch (error) {
    throw failure('CONFIG_INVALID', { name, problem: `"${text}" is not usable`, fix: 'Give addresses and ranges such as 10.1.2.3, 10.2.0.0/16' }, error);
  }
  return allowAddresses;
}
