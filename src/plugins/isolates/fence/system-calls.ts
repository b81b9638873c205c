/** Numbers of a system call; only x64 has the older calls. */
type Numbers = [x64: number | undefined, arm64: number | undefined];

/**
 * What Node 20 to 24 need once they run, threads included. Every other call fails as if the kernel did not know it, which makes the C library use an
 * older call (clone3: clone). So there are no namespaces, sockets, io_uring, userfaultfd, keys, shared memory, tracing, mounts or `kill`.
 */
export const PLUGIN_CALLS: Record<string, Numbers> = {
  access: [21, undefined],
  arch_prctl: [158, undefined],
  brk: [12, 214],
  capget: [125, 90],
  clock_getres: [229, 114],
  clock_gettime: [228, 113],
  clock_nanosleep: [230, 115],
  close: [3, 57],
  close_range: [436, 436],
  dup: [32, 23],
  dup2: [33, undefined],
  dup3: [292, 24],
  epoll_create1: [291, 20],
  epoll_ctl: [233, 21],
  epoll_pwait: [281, 22],
  epoll_pwait2: [441, 441],
  epoll_wait: [232, undefined],
  eventfd2: [290, 19],
  execve: [59, 221],
  exit: [60, 93],
  exit_group: [231, 94],
  faccessat: [269, 48],
  faccessat2: [439, 439],
  fcntl: [72, 25],
  fstat: [5, 80],
  futex: [202, 98],
  get_robust_list: [274, 100],
  getcwd: [79, 17],
  getdents64: [217, 61],
  getegid: [108, 177],
  geteuid: [107, 175],
  getgid: [104, 176],
  getpeername: [52, 205],
  getpid: [39, 172],
  getppid: [110, 173],
  getrandom: [318, 278],
  getrlimit: [97, 163],
  getrusage: [98, 165],
  getsockname: [51, 204],
  getsockopt: [55, 209],
  gettid: [186, 178],
  gettimeofday: [96, 169],
  getuid: [102, 174],
  lseek: [8, 62],
  lstat: [6, undefined],
  madvise: [28, 233],
  membarrier: [324, 283],
  mincore: [27, 232],
  mprotect: [10, 226],
  mremap: [25, 216],
  munmap: [11, 215],
  nanosleep: [35, 101],
  newfstatat: [262, 79],
  open: [2, undefined],
  openat: [257, 56],
  pipe2: [293, 59],
  pkey_alloc: [330, 289],
  pkey_free: [331, 290],
  pkey_mprotect: [329, 288],
  poll: [7, undefined],
  ppoll: [271, 73],
  pread64: [17, 67],
  pselect6: [270, 72],
  read: [0, 63],
  readlink: [89, undefined],
  readlinkat: [267, 78],
  readv: [19, 65],
  restart_syscall: [219, 128],
  rseq: [334, 293],
  rt_sigaction: [13, 134],
  rt_sigprocmask: [14, 135],
  rt_sigreturn: [15, 139],
  sched_get_priority_max: [146, 125],
  sched_get_priority_min: [147, 126],
  sched_getaffinity: [204, 123],
  sched_getparam: [143, 121],
  sched_getscheduler: [145, 120],
  sched_setaffinity: [203, 122],
  sched_yield: [24, 124],
  set_robust_list: [273, 99],
  set_tid_address: [218, 96],
  shutdown: [48, 210],
  sigaltstack: [131, 132],
  stat: [4, undefined],
  statx: [332, 291],
  sysinfo: [99, 179],
  tgkill: [234, 131],
  times: [100, 153],
  uname: [63, 160],
  write: [1, 64],
  writev: [20, 66],
};

/** A condition on one argument. The filter sees only its lower 32 bits. */
export interface Condition {
  numbers: Numbers;
  argument: number;
  /** Where given, the argument must be one of these. */
  oneOf?: number[];
  /** Masks. Of each mask at least one bit must be set. */
  needs?: number[];
  without?: number;
}

const CLONE_THREAD = 0x1_0000;
/** New namespaces of any kind. */
const CLONE_NEW = 0x7e02_0080;
const MAP_SHARED = 0x1;
/** The limit on data does not count such memory. */
const MAP_GROWSDOWN = 0x100;
const [PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_SET_VMA] = [3, 15, 16, 0x5356_4d41];
const [TCGETS, FIONREAD, TIOCGWINSZ, FIONBIO, FIONCLEX, FIOCLEX] = [0x5401, 0x541b, 0x5413, 0x5421, 0x5450, 0x5451];

export const CONDITIONAL: Record<string, Condition> = {
  clone: { numbers: [56, 220], argument: 0, needs: [CLONE_THREAD], without: CLONE_NEW },
  mmap: { numbers: [9, 222], argument: 3, without: MAP_SHARED | MAP_GROWSDOWN },
  prctl: { numbers: [157, 167], argument: 0, oneOf: [PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_SET_VMA] },
  ioctl: { numbers: [16, 29], argument: 1, oneOf: [TCGETS, FIONREAD, TIOCGWINSZ, FIONBIO, FIONCLEX, FIOCLEX] },
  /** Allowed for the process's own limits only. */
  prlimit64: { numbers: [302, 261], argument: 0, oneOf: [0] },
};
