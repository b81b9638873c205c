import { ALLOWED } from './allowed-calls.ts';

/** The format in which an engine takes a profile. */
export interface SeccompProfile {
  defaultAction: string;
  archMap: { architecture: string; subArchitectures: string[] }[];
  syscalls: Rule[];
}
interface Rule {
  names: string[];
  action: string;
  errnoRet?: number;
  args?: { index: number; value: number; valueTwo?: number; op: string }[];
}

/** Numbers of errors, the same on all architectures below. */
const ENOSYS = 38;
const EOPNOTSUPP = 95;

/** clone's flags for namespaces of its own: mount, cgroup, uts, ipc, user, pid, net. */
const NAMESPACES = 0x7e02_0000;

/** AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK. No AF_VSOCK, which would reach the host of a virtual machine past all networks, and none of the rare ones. */
const FAMILIES = [1, 2, 10, 16];
const AF_UNIX = 1;

/** Of Linux itself, of 32-bit Linux, with and without old BSD manners; and the question which one it is. */
const PERSONALITIES = [0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];

/** 32-bit programs run; x32, which nobody uses and which has numbers of its own, does not. */
const ARCHITECTURES = [
  { architecture: 'SCMP_ARCH_X86_64', subArchitectures: ['SCMP_ARCH_X86'] },
  { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: ['SCMP_ARCH_ARM'] },
  { architecture: 'SCMP_ARCH_RISCV64', subArchitectures: [] },
];

/**
 * What the containers of sandboxes, and all others that Longshore starts, may ask of the kernel. The engine's own default is wider, and differs from version
 * to version. Arguments are compared as 64 bits, so only lists of permitted values hold: a forbidden one could come with other upper bits.
 */
export function seccompProfile(): SeccompProfile {
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    archMap: ARCHITECTURES,
    syscalls: [
      allow(Object.values(ALLOWED).flatMap((names) => names.trim().split(/\s+/))),
      ...FAMILIES.map((family) => allow(['socket'], [equals(0, family)])),
      allow(['socketpair'], [equals(0, AF_UNIX)]),
      ...PERSONALITIES.map((personality) => allow(['personality'], [equals(0, personality)])),
      allow(['clone'], [{ index: 0, value: NAMESPACES, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }]),
      // What permits one of the calls for sockets permits it here as well, unless it is refused by name, with another error than the default; its arguments
      // are in memory, past the list of families.
      refuse(['socketcall'], ENOSYS),
      // Its flags are in memory, where a filter cannot look. C libraries then use clone.
      refuse(['clone3'], ENOSYS),
      // Programs that would like to use it do without.
      refuse(['io_uring_setup', 'io_uring_enter', 'io_uring_register'], ENOSYS),
      // It takes up gigabytes before anything that watches could see it. Programs that know this answer, posix_fallocate of glibc among them, write instead.
      refuse(['fallocate'], EOPNOTSUPP),
    ],
  };
}

/** The profile as an engine is given it with a container. */
export const SECCOMP_OPTION = `seccomp=${JSON.stringify(seccompProfile())}`;

/** Of `SecurityOpt`, for each container that Longshore starts. */
export const SECURITY_OPTIONS: readonly string[] = ['no-new-privileges:true', SECCOMP_OPTION];

function allow(names: string[], args?: Rule['args']): Rule {
  return { names, action: 'SCMP_ACT_ALLOW', ...(args && { args }) };
}

function equals(index: number, value: number) {
  return { index, value, op: 'SCMP_CMP_EQ' };
}

function refuse(names: string[], errnoRet: number): Rule {
  return { names, action: 'SCMP_ACT_ERRNO', errnoRet };
}
