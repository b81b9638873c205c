/** One row of the error table; docs/errors.md is checked against it. */
export interface ErrorRow {
  /** Template; `{name}` is filled from the error's values. Says what is wrong, with which value, and what to do next. */
  message: string;
  httpStatus: number;
  retryable: boolean;
}
