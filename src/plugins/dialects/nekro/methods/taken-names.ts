import { PYTHON_WORDS } from './signature.ts';

const words = (text: string) => text.trim().split(/\s+/);

/** Names that are built into Python 3.9 to 3.14, and `display`, which is built into the contexts of `code:run`. */
const PYTHON_BUILTINS = words(`
  ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError BufferError BytesWarning ChildProcessError
  ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception
  ExceptionGroup FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning IndentationError IndexError
  InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError NotADirectoryError NotImplemented
  NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError PythonFinalizationError RecursionError ReferenceError
  ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError TypeError
  UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning ZeroDivisionError
  _IncompleteInputError _ abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright credits delattr dict
  dir display divmod enumerate eval exec exit filter float format frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len license
  list locals map max memoryview min next object oct open ord pow print property quit range repr reversed round set setattr slice sorted staticmethod str sum super
  tuple type vars zip`);

const JAVASCRIPT_WORDS = words(`
  arguments async await break case catch class const continue debugger default delete do else enum export extends false finally for function get if implements import
  in instanceof interface let new null of package private protected public return set static super switch this throw true try typeof var void while with yield`);

/** What every object has, and `then`, which makes a promise of an object. */
const PARTS_OF_OBJECTS = words('constructor hasOwnProperty isPrototypeOf propertyIsEnumerable then toLocaleString toString valueOf');

/** Globals of Node 18 to 25. */
const JAVASCRIPT_GLOBALS = words(`
  AbortController AbortSignal AggregateError Array ArrayBuffer AsyncDisposableStack Atomics BigInt BigInt64Array BigUint64Array Blob Boolean BroadcastChannel Buffer
  ByteLengthQueuingStrategy CloseEvent CompressionStream CountQueuingStrategy Crypto CryptoKey CustomEvent DOMException DataView Date DecompressionStream DisposableStack
  Error ErrorEvent EvalError Event EventSource EventTarget File FinalizationRegistry Float16Array Float32Array Float64Array FormData Function Headers Infinity Int16Array
  Int32Array Int8Array Intl Iterator JSON Map Math MessageChannel MessageEvent MessagePort NaN Navigator Number Object Performance PerformanceEntry PerformanceMark
  PerformanceMeasure PerformanceObserver PerformanceObserverEntryList PerformanceResourceTiming Promise Proxy RangeError ReadableByteStreamController ReadableStream
  ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableStreamDefaultReader ReferenceError Reflect RegExp Request Response Set
  SharedArrayBuffer Storage String SubtleCrypto SuppressedError Symbol SyntaxError TextDecoder TextDecoderStream TextEncoder TextEncoderStream TransformStream
  TransformStreamDefaultController TypeError URIError URL URLPattern URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet
  WebAssembly WebSocket WritableStream WritableStreamDefaultController WritableStreamDefaultWriter __dirname __filename atob btoa clearImmediate clearInterval clearTimeout console
  crypto decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval exports fetch gc global globalThis isFinite isNaN localStorage module navigator parseFloat parseInt performance process queueMicrotask require sessionStorage setImmediate
  setInterval setTimeout structuredClone undefined unescape`);

/** Modules of Node that programs can use by these names without an import. */
const NODE_MODULES = words(`
  assert async_hooks buffer child_process cluster constants dgram diagnostics_channel dns domain events fs http http2 https inspector net os path perf_hooks punycode
  querystring readline repl sea sqlite stream string_decoder sys test timers tls trace_events tty url util v8 vm wasi worker_threads zlib`);

/** What each name already means. Of several meanings, the last one in this list counts. */
const TAKEN = new Map<string, string>(
  (
    [
      ["in JavaScript it means Node's module", NODE_MODULES],
      ['in JavaScript it means what is built in', JAVASCRIPT_GLOBALS],
      ['in Python it means what is built in', PYTHON_BUILTINS],
      ['in JavaScript it is a word of the language', JAVASCRIPT_WORDS],
    ] as const
  ).flatMap(([by, names]) => [...names].map((name): [string, string] => [name, by])),
);

/** Why code cannot call a method by this bare name: the name already means something else in one of the two languages. Undefined for a free name. */
export function takenBy(name: string): string | undefined {
  return brokenBy(name) ?? TAKEN.get(name);
}

const BREAKING = new Map<string, string>(
  (
    [
      ['it means all tools', ['tools', 'longshore']],
      ['in JavaScript every object has it', PARTS_OF_OBJECTS],
      ['in Python it is a word of the language', PYTHON_WORDS],
    ] as const
  ).flatMap(([by, names]) => [...names].map((name): [string, string] => [name, by])),
);

/** Why code cannot call a method of this name at all, not even behind its plugin's name. */
export function brokenBy(name: string): string | undefined {
  if (/^__.*__$/.test(name)) return 'names with __ at both ends belong to Python';
  return BREAKING.get(name);
}
