import { PLUGIN_CALLS, CONDITIONAL, type Condition } from './system-calls.ts';

export const PROCESSORS = ['x64', 'arm64'] as const;
export type Processor = (typeof PROCESSORS)[number];

const MACHINES: Record<Processor, number> = { x64: 0xc000_003e, arm64: 0xc000_00b7 };
/** On x64, numbers from here on are system calls of the x32 ABI. */
const FIRST_OF_X32 = 0x4000_0000;

const [LOAD, IS, IS_AT_LEAST, HAS, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06];
const [ALLOW, END_PROCESS, REFUSE, UNKNOWN] = [0x7fff_0000, 0x8000_0000, 0x0005_0001, 0x0005_0026];
/** Offsets in the data that the kernel gives to a filter. */
const [NUMBER, MACHINE, ARGUMENTS] = [0, 4, 16];

type Instruction = [code: number, jumpIfTrue: number, jumpIfFalse: number, value: number];

/** The kernel's filter program, in hexadecimal. It allows a plugin's process the calls of system-calls.ts and no others. */
export function seccompFilter(processor: Processor): string {
  const at = processor === 'x64' ? 0 : 1;
  const instructions: Instruction[] = [
    [LOAD, 0, 0, MACHINE],
    [IS, 1, 0, MACHINES[processor]],
    [RETURN, 0, 0, END_PROCESS],
    [LOAD, 0, 0, NUMBER],
    [IS_AT_LEAST, 0, 1, FIRST_OF_X32],
    [RETURN, 0, 0, UNKNOWN],
    ...Object.values(PLUGIN_CALLS).flatMap((numbers) => when(numbers[at], [[RETURN, 0, 0, ALLOW]])),
    ...Object.values(CONDITIONAL).flatMap((condition) => when(condition.numbers[at], check(condition))),
    [RETURN, 0, 0, UNKNOWN],
  ];
  return Buffer.concat(instructions.map(encode)).toString('hex');
}

/** Runs `then` only for this call. `then` must end with a return. */
function when(number: number | undefined, then: Instruction[]): Instruction[] {
  return number === undefined ? [] : [[IS, 0, then.length, number], ...then];
}

function check({ argument, oneOf, needs = [], without }: Condition): Instruction[] {
  return [
    [LOAD, 0, 0, ARGUMENTS + 8 * argument],
    ...needs.flatMap((mask): Instruction[] => [
      [HAS, 1, 0, mask],
      [RETURN, 0, 0, REFUSE],
    ]),
    ...(without === undefined ? [] : refuseIf(HAS, without)),
    ...(oneOf ?? []).flatMap((value): Instruction[] => [
      [IS, 0, 1, value],
      [RETURN, 0, 0, ALLOW],
    ]),
    [RETURN, 0, 0, oneOf ? REFUSE : ALLOW],
  ];
}

function refuseIf(code: number, value: number): Instruction[] {
  return [
    [code, 0, 1, value],
    [RETURN, 0, 0, REFUSE],
  ];
}

/** The layout of an instruction in memory, as the kernel has it; both processors are little-endian. */
function encode([code, jumpIfTrue, jumpIfFalse, value]: Instruction): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(jumpIfTrue, 2);
  bytes.writeUInt8(jumpIfFalse, 3);
  bytes.writeUInt32LE(value, 4);
  return bytes;
}
