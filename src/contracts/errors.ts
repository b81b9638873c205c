import { ERRORS } from './error-table/error-rows.ts';

export type ErrorCode = keyof typeof ERRORS;
type Placeholders<T extends string> = T extends `${string}{${infer Name}}${infer Rest}` ? Name | Placeholders<Rest> : never;
export type ErrorValues<C extends ErrorCode> = Record<Placeholders<(typeof ERRORS)[C]['message']>, string | number>;

/** What is known of an error whose code a newer version has. */
interface UnknownError {
  message: string;
  retryable: boolean;
}

/** An error of the table, or of that of a newer version. `code` and `values` cross process borders; `message` is for people. */
export class LongshoreError extends Error {
  readonly code: ErrorCode;
  readonly values: Record<string, string | number>;
  readonly #retryable: boolean;

  constructor(code: ErrorCode, values: Record<string, string | number>, { unknown, ...options }: { cause?: unknown; unknown?: UnknownError } = {}) {
    super(unknown ? unknown.message : fill(ERRORS[code].message, values), options);
    this.name = 'LongshoreError';
    this.code = code;
    this.values = values;
    this.#retryable = (unknown ?? ERRORS[code]).retryable;
  }

  get retryable(): boolean {
    return this.#retryable;
  }
}

/** Makes an error of the table; the values are checked against its template. */
export function failure<C extends ErrorCode>(code: C, values: ErrorValues<C>, cause?: unknown): LongshoreError {
  return new LongshoreError(code, values, cause === undefined ? undefined : { cause });
}

/** Makes an error whose code only a newer version has. */
export function unknownFailure(code: string, values: Record<string, string | number>, unknown: UnknownError): LongshoreError {
  return new LongshoreError(code as ErrorCode, values, { unknown });
}

export function isKnownCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}

/** True for errors of the table, of one code when given; works across realms and copies of this module. */
export function isFailure(error: unknown, code?: ErrorCode): error is LongshoreError {
  const named = error as Partial<LongshoreError> | undefined;
  return named?.name === 'LongshoreError' && (code === undefined || named.code === code);
}

function fill(template: string, values: Record<string, string | number>): string {
  // A value that comes from elsewhere may end with its own full stop.
  return template.replaceAll(/\{(\w+)\}(\. )?/g, (whole, name: string, stop: string = '') => {
    if (!Object.hasOwn(values, name)) return whole;
    const value = String(values[name]);
    return stop !== '' && /[.!?]$/.test(value) ? `${value} ` : value + stop;
  });
}
