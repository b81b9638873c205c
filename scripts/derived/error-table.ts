import { ERRORS } from '../../src/contracts/error-table/error-rows.ts';

/** The rows of the table in docs/errors.md, heading first. */
export function errorTable(): string[] {
  const rows = Object.entries(ERRORS).map(([code, { message, httpStatus, retryable }]) => {
    const text = message.replaceAll('|', '\\|').replaceAll('<', '&lt;');
    return `| \`${code}\` | ${httpStatus} | ${retryable ? 'yes' : 'no'} | ${text} |`;
  });
  return ['| code | HTTP | retry | message |', '| --- | --- | --- | --- |', ...rows];
}
