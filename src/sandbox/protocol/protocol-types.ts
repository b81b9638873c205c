import type { JsonObject } from '../../contracts/json.ts';
import type { OperationFields, PROTOCOL } from './protocol.ts';

type Records = typeof PROTOCOL.records;
type Operations = typeof PROTOCOL.operations;
type Optional = { readonly optional: true };

type ValueOf<F> = F extends { type: 'id' | 'text' }
  ? string
  : F extends { type: 'integer' }
    ? number
    : F extends { type: 'boolean' }
      ? boolean
      : F extends { type: 'choice'; values: readonly (infer V)[] }
        ? V
        : F extends { type: 'texts' }
          ? string[]
          : F extends { type: 'textMap' }
            ? Record<string, string>
            : F extends { type: 'object' }
              ? JsonObject
              : F extends { type: 'record'; record: infer R extends keyof Records }
                ? RecordOf<R>
                : never;

type OwnFields<F> = { -readonly [K in keyof F as K extends '...' ? never : F[K] extends Optional ? never : K]: ValueOf<F[K]> } & {
  -readonly [K in keyof F as F[K] extends Optional ? K : never]?: ValueOf<F[K]>;
};
type AddedFields<Names> = Names extends readonly [infer R extends keyof Records, ...infer Rest] ? RecordOf<R> & AddedFields<Rest> : unknown;
type Flat<T> = { [K in keyof T]: T[K] };
type MessageOf<F> = Flat<OwnFields<F> & (F extends { '...': infer Names } ? AddedFields<Names> : unknown)>;
/** Distributes over a union of operations: the result is the union of their parts, not their common fields. */
type PartOf<O, P extends Part> = O extends keyof Operations ? (P extends keyof Operations[O] ? MessageOf<Operations[O][P]> : never) : never;

export type Operation = keyof Operations;
/** Operations whose data are lines of JSON. */
export type LineOperation = { [O in Operation]: Operations[O] extends { lines: unknown } ? O : never }[Operation];

export type RecordOf<R extends keyof Records> = MessageOf<Records[R]>;
export type RequestOf<O extends Operation> = PartOf<O, 'request'>;
export type LineOf<O extends LineOperation> = PartOf<O, 'lines'>;
export type EndOf<O extends Operation> = PartOf<O, 'end'>;
export type Part = keyof OperationFields;
/** Type of the named part of an operation. */
export type Message<O extends Operation, P extends Part> = PartOf<O, P>;
