/**
 * The system calls that programs in Longshore's containers may make, by purpose. All others fail with EPERM, except those with rules of their own in
 * `profile.ts`. A name that an engine, a kernel or an architecture does not know is ignored there.
 *
 * Left out on purpose: io_uring (its operations are not filtered), userfaultfd, bpf, perf_event_open and fanotify (large parts of the kernel), keys
 * (containers share them), unshare, setns and all calls about mounts (namespaces), socketcall (its arguments are in memory, which a filter cannot read;
 * 32-bit programs also have separate socket calls), and calls that change the clock, modules, swap or the machine.
 */
export const ALLOWED_CALLS: Record<string, string> = {
  'Files: content': `
    read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek _llseek open openat openat2 creat close close_range dup dup2
    dup3 sendfile sendfile64 copy_file_range splice tee vmsplice fsync fdatasync sync syncfs sync_file_range sync_file_range2
    arm_sync_file_range truncate truncate64 ftruncate ftruncate64 fadvise64 fadvise64_64 arm_fadvise64_64 readahead flock fcntl fcntl64 ioctl
    cachestat
  `,
  'Files: names, attributes and directories': `
    stat stat64 fstat fstat64 lstat lstat64 newfstatat fstatat64 statx oldstat oldfstat oldlstat statfs statfs64 fstatfs fstatfs64 access
    faccessat faccessat2 chdir fchdir getcwd mkdir mkdirat rmdir rename renameat renameat2 link linkat symlink symlinkat readlink readlinkat
    unlink unlinkat mknod mknodat chmod fchmod fchmodat fchmodat2 chown chown32 fchown fchown32 lchown lchown32 fchownat umask utime utimes
    utimensat utimensat_time64 futimesat getdents getdents64 readdir getxattr lgetxattr fgetxattr getxattrat listxattr llistxattr flistxattr
    listxattrat setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat name_to_handle_at file_getattr
    file_setattr chroot
  `,
  'Waiting for descriptors and for changes of files': `
    poll ppoll ppoll_time64 select _newselect pselect6 pselect6_time64 epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_wait
    epoll_wait_old epoll_pwait epoll_pwait2 eventfd eventfd2 inotify_init inotify_init1 inotify_add_watch inotify_rm_watch pipe pipe2
    memfd_create memfd_secret io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents io_pgetevents_time64
  `,
  'Sockets, once they exist': `
    bind connect listen accept accept4 getsockname getpeername getsockopt setsockopt send sendto sendmsg sendmmsg recv recvfrom recvmsg recvmmsg
    recvmmsg_time64 shutdown
  `,
  Memory: `
    brk mmap mmap2 munmap mremap mprotect madvise process_madvise msync mincore mlock mlock2 mlockall munlock munlockall remap_file_pages
    membarrier map_shadow_stack mseal pkey_alloc pkey_free pkey_mprotect
  `,
  'Processes and threads': `
    fork vfork execve execveat exit exit_group wait4 waitid waitpid getpid getppid gettid getpgid getpgrp setpgid getsid setsid set_tid_address
    set_thread_area get_thread_area arch_prctl modify_ldt prctl prlimit64 getrlimit ugetrlimit setrlimit getrusage times getpriority setpriority
    nice ioprio_get ioprio_set set_robust_list get_robust_list rseq futex futex_time64 futex_waitv futex_wait futex_wake futex_requeue
    restart_syscall capget capset seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self pidfd_open pidfd_send_signal
    process_mrelease kcmp lsm_get_self_attr lsm_list_modules lsm_set_self_attr riscv_flush_icache riscv_hwprobe breakpoint cacheflush set_tls
  `,
  "Debugging one's own processes (the kernel asks for the rights over the other process)": `
    ptrace process_vm_readv process_vm_writev
  `,
  'Users and groups': `
    getuid getuid32 geteuid geteuid32 getgid getgid32 getegid getegid32 getresuid getresuid32 getresgid getresgid32 getgroups getgroups32 setuid
    setuid32 setgid setgid32 setreuid setreuid32 setregid setregid32 setresuid setresuid32 setresgid setresgid32 setgroups setgroups32 setfsuid
    setfsuid32 setfsgid setfsgid32
  `,
  Scheduling: `
    sched_yield sched_getaffinity sched_setaffinity sched_getattr sched_setattr sched_getparam sched_setparam sched_getscheduler
    sched_setscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval sched_rr_get_interval_time64 getcpu
  `,
  Signals: `
    kill tkill tgkill rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_tgsigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
    rt_sigtimedwait_time64 sigaltstack sigaction signal sigpending sigprocmask sigreturn sigsuspend signalfd signalfd4 pause alarm
  `,
  Time: `
    time gettimeofday clock_gettime clock_gettime64 clock_getres clock_getres_time64 clock_nanosleep clock_nanosleep_time64 nanosleep getitimer
    setitimer timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64 timerfd_create
    timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64 adjtimex clock_adjtime clock_adjtime64
  `,
  'System V and POSIX messages, semaphores and shared memory': `
    ipc shmget shmat shmdt shmctl semget semop semtimedop semtimedop_time64 semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink mq_timedsend
    mq_timedsend_time64 mq_timedreceive mq_timedreceive_time64 mq_notify mq_getsetattr
  `,
  'Facts about the system': `
    uname sysinfo getrandom statmount listmount
  `,
};
