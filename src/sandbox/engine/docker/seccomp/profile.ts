import { ALLOWED_CALLS } from './allowed-calls.ts';

/** The format of a profile for an engine. */
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

/** The flags of clone for new namespaces: mount, cgroup, uts, ipc, user, pid, net. */
const NAMESPACES = 0x7e02_0000;

/** AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK. No rare families, and no AF_VSOCK, which reaches the host of a virtual machine without any network. */
const FAMILIES = [1, 2, 10, 16];
const AF_UNIX = 1;

/** PER_LINUX and PER_LINUX32, each with and without UNAME26; and 0xffffffff, which only reads the current one. */
const PERSONALITIES = [0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];

/** 32-bit programs are permitted. The x32 ABI, which is not in use and has call numbers of its own, is not. */
const ARCHITECTURES = [
  { architecture: 'SCMP_ARCH_X86_64', subArchitectures: ['SCMP_ARCH_X86'] },
  { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: ['SCMP_ARCH_ARM'] },
  { architecture: 'SCMP_ARCH_RISCV64', subArchitectures: [] },
];

/**
 * The system calls that containers of sandboxes, and all others that Longshore starts, may make. The engine's default profile permits more, and differs
 * between versions. Arguments are compared as 64 bits, so rules list permitted values: a forbidden value could be given with other upper bits.
 */
export function seccompProfile(): SeccompProfile {
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    archMap: ARCHITECTURES,
    syscalls: [
      allow(Object.values(ALLOWED_CALLS).flatMap((names) => names.trim().split(/\s+/))),
      ...FAMILIES.map((family) => allow(['socket'], [equals(0, family)])),
      allow(['socketpair'], [equals(0, AF_UNIX)]),
      ...PERSONALITIES.map((personality) => allow(['personality'], [equals(0, personality)])),
      allow(['clone'], [{ index: 0, value: NAMESPACES, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }]),
      // A rule that permits one of the socket calls also permits it through socketcall, unless socketcall is refused by name with another error than the
      // default. The arguments of socketcall are in memory, where a filter cannot check the family.
      refuse(['socketcall'], ENOSYS),
      // Its flags are in memory, which a filter cannot read. C libraries then use clone.
      refuse(['clone3'], ENOSYS),
      // Programs then use other calls.
      refuse(['io_uring_setup', 'io_uring_enter', 'io_uring_register'], ENOSYS),
      // It allocates gigabytes before the disk watchdog can see them. Programs that know this error, such as posix_fallocate of glibc, write instead.
      refuse(['fallocate'], EOPNOTSUPP),
    ],
  };
}

/** The profile as an option of a container. */
export const SECCOMP_OPTION = `seccomp=${JSON.stringify(seccompProfile())}`;

/** The `SecurityOpt` of each container that Longshore starts. */
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
