import { EngineError } from '@holt/engine'
import type { OciSeccomp } from './oci-config.ts'

/**
 * The system calls that a container may make with any arguments. All others fail with EPERM:
 * everything about mounts, namespaces, modules, keys, BPF, performance counters, user faults,
 * `io_uring`, opening file handles, quotas, swap, setting the clock and restarting the host.
 */
// biome-ignore format: a list of words
export const ALLOWED_SYSCALLS = [
  'accept', 'accept4', 'access', 'adjtimex', 'alarm', 'arch_prctl', 'bind', 'brk', 'cachestat', 'capget', 'capset',
  'chdir', 'chmod', 'chown', 'chroot', 'clock_adjtime', 'clock_getres', 'clock_gettime', 'clock_nanosleep', 'close',
  'close_range', 'connect', 'copy_file_range', 'creat', 'dup', 'dup2', 'dup3', 'epoll_create', 'epoll_create1',
  'epoll_ctl', 'epoll_ctl_old', 'epoll_pwait', 'epoll_pwait2', 'epoll_wait', 'epoll_wait_old', 'eventfd', 'eventfd2',
  'execve', 'execveat', 'exit', 'exit_group', 'faccessat', 'faccessat2', 'fadvise64', 'fallocate', 'fchdir', 'fchmod',
  'fchmodat', 'fchmodat2', 'fchown', 'fchownat', 'fcntl', 'fdatasync', 'fgetxattr', 'flistxattr', 'flock', 'fork',
  'fremovexattr', 'fsetxattr', 'fstat', 'fstatfs', 'fsync', 'ftruncate', 'futex', 'futex_requeue', 'futex_wait',
  'futex_waitv', 'futex_wake', 'futimesat', 'get_robust_list', 'get_thread_area', 'getcpu', 'getcwd', 'getdents',
  'getdents64', 'getegid', 'geteuid', 'getgid', 'getgroups', 'getitimer', 'getpeername', 'getpgid', 'getpgrp',
  'getpid', 'getppid', 'getpriority', 'getrandom', 'getresgid', 'getresuid', 'getrlimit', 'getrusage', 'getsid',
  'getsockname', 'getsockopt', 'gettid', 'gettimeofday', 'getuid', 'getxattr', 'inotify_add_watch', 'inotify_init',
  'inotify_init1', 'inotify_rm_watch',
  'ioctl', 'ioprio_get', 'ioprio_set', 'kill', 'landlock_add_rule', 'landlock_create_ruleset',
  'landlock_restrict_self', 'lchown', 'lgetxattr', 'link', 'linkat', 'listen', 'listxattr', 'llistxattr',
  'lremovexattr', 'lseek', 'lsetxattr', 'lstat', 'madvise', 'map_shadow_stack', 'membarrier', 'memfd_create',
  'memfd_secret', 'mincore', 'mkdir', 'mkdirat', 'mknod', 'mknodat', 'mlock', 'mlock2', 'mlockall', 'mmap',
  'mprotect', 'mq_getsetattr', 'mq_notify', 'mq_open', 'mq_timedreceive', 'mq_timedsend', 'mq_unlink',
  'mremap', 'mseal', 'msgctl', 'msgget', 'msgrcv', 'msgsnd', 'msync', 'munlock', 'munlockall', 'munmap',
  'name_to_handle_at', 'nanosleep', 'newfstatat', 'open', 'openat', 'openat2', 'pause', 'pidfd_open',
  'pidfd_send_signal', 'pipe', 'pipe2', 'pkey_alloc', 'pkey_free', 'pkey_mprotect', 'poll', 'ppoll', 'prctl',
  'pread64', 'preadv', 'preadv2', 'prlimit64', 'process_mrelease', 'process_vm_readv', 'process_vm_writev',
  'pselect6', 'ptrace', 'pwrite64', 'pwritev', 'pwritev2', 'read', 'readahead', 'readlink', 'readlinkat', 'readv',
  'recvfrom', 'recvmmsg', 'recvmsg', 'remap_file_pages', 'removexattr', 'rename', 'renameat', 'renameat2',
  'restart_syscall', 'rmdir', 'rseq', 'rt_sigaction', 'rt_sigpending', 'rt_sigprocmask', 'rt_sigqueueinfo',
  'rt_sigreturn', 'rt_sigsuspend', 'rt_sigtimedwait', 'rt_tgsigqueueinfo', 'sched_get_priority_max',
  'sched_get_priority_min', 'sched_getaffinity', 'sched_getattr', 'sched_getparam', 'sched_getscheduler',
  'sched_rr_get_interval', 'sched_setaffinity', 'sched_setattr', 'sched_setparam', 'sched_setscheduler',
  'sched_yield', 'seccomp', 'select', 'semctl', 'semget', 'semop', 'semtimedop', 'sendfile', 'sendmmsg', 'sendmsg',
  'sendto', 'set_robust_list', 'set_thread_area', 'set_tid_address', 'setfsgid', 'setfsuid', 'setgid', 'setgroups',
  'setitimer', 'setpgid', 'setpriority', 'setregid', 'setresgid', 'setresuid', 'setreuid', 'setrlimit', 'setsid',
  'setsockopt', 'setuid', 'setxattr', 'shmat', 'shmctl', 'shmdt', 'shmget', 'shutdown', 'sigaltstack', 'signalfd',
  'signalfd4', 'splice', 'stat', 'statfs', 'statx', 'symlink', 'symlinkat', 'sync', 'sync_file_range',
  'syncfs', 'sysinfo', 'tee', 'tgkill', 'time', 'timer_create', 'timer_delete', 'timer_getoverrun', 'timer_gettime',
  'timer_settime', 'timerfd_create', 'timerfd_gettime', 'timerfd_settime', 'times', 'tkill', 'truncate', 'umask',
  'uname', 'unlink', 'unlinkat', 'utime', 'utimensat', 'utimes', 'vfork', 'vmsplice', 'wait4', 'waitid', 'write',
  'writev',
] as const

/**
 * `CLONE_NEW*` of `clone(2)`: NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. NEWTIME
 * does not fit into `clone`'s flags.
 */
const NEW_NAMESPACES = 0x7e02_0000

/**
 * The `personality(2)` values that do not change security: PER_LINUX, PER_LINUX32, UNAME26,
 * ADDR_NO_RANDOMIZE (debuggers) and the query of the current one.
 */
const PERSONALITIES = [0x0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, 0xffff_ffff]

/**
 * The `socket(2)` families and protocols that are allowed. Others load kernel modules (SCTP, DCCP,
 * SMC, TIPC) or reach beyond the container's network. VSOCK reaches the hypervisor, ALG the
 * kernel's crypto, and netlink's KOBJECT_UEVENT the host's devices.
 */
const AF_UNIX = 1
const AF_INET = 2
const AF_INET6 = 10
const AF_NETLINK = 16
const NETLINK_ROUTE = 0

/** IP's default, ICMP, TCP, UDP, ICMPv6 and MPTCP (`include/uapi/linux/in.h`). */
const IP_PROTOCOLS = [0, 1, 6, 17, 58, 262]

/**
 * Asynchronous I/O of the kernel (libaio). `fs.aio-max-nr` is one limit for the whole host.
 * Databases continue without it after ENOSYS; some end after EPERM.
 */
const KERNEL_AIO = ['io_cancel', 'io_destroy', 'io_getevents', 'io_pgetevents', 'io_setup', 'io_submit']

const ENOSYS = 38
const EPERM = 1
const EPROTONOSUPPORT = 93

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'SCMP_ARCH_X86_64', arm64: 'SCMP_ARCH_AARCH64' }

/**
 * Returns the container's system call filter, an allowlist. It covers only the host's own
 * architecture: a second one (32 bit, x32) is less tested and adds attack surface. `clone3` takes
 * its flags from memory, which a filter cannot read. ENOSYS makes libraries fall back to `clone`.
 */
export function seccompProfile(arch: string): OciSeccomp {
  const architecture = ARCHITECTURES[arch]
  if (architecture === undefined) throw new EngineError('not_supported', `no system call filter for ${arch}`)
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: EPERM,
    architectures: [architecture],
    syscalls: [
      { names: ALLOWED_SYSCALLS, action: 'SCMP_ACT_ALLOW' },
      {
        names: ['clone'],
        action: 'SCMP_ACT_ALLOW',
        args: [{ index: 0, value: NEW_NAMESPACES, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
      },
      { names: ['clone3', ...KERNEL_AIO], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
      ...oneOf('personality', PERSONALITIES),
      ...oneOf('socketpair', [AF_UNIX]),
      ...oneOf('socket', [AF_UNIX]),
      ...[AF_INET, AF_INET6].flatMap((family) => IP_PROTOCOLS.map((protocol) => socketRule(family, protocol))),
      ...netlinkRules(),
    ],
  }
}

function oneOf(name: string, values: readonly number[]) {
  return values.map((value) => ({
    names: [name],
    action: 'SCMP_ACT_ALLOW' as const,
    args: [{ index: 0, value, op: 'SCMP_CMP_EQ' }],
  }))
}

function socketRule(family: number, protocol: number) {
  return {
    names: ['socket'],
    action: 'SCMP_ACT_ALLOW' as const,
    args: [
      { index: 0, value: family, op: 'SCMP_CMP_EQ' },
      { index: 2, value: protocol, op: 'SCMP_CMP_EQ' },
    ],
  }
}

/**
 * Returns rules that allow only netlink's routes. The errno for the rest is that of a kernel
 * without it. `useradd` and others fail if the audit protocol is refused with EPERM (shadow,
 * `lib/audit_help.c`).
 */
function netlinkRules() {
  const others = {
    names: ['socket'],
    action: 'SCMP_ACT_ERRNO' as const,
    errnoRet: EPROTONOSUPPORT,
    args: [
      { index: 0, value: AF_NETLINK, op: 'SCMP_CMP_EQ' },
      { index: 2, value: NETLINK_ROUTE, op: 'SCMP_CMP_NE' },
    ],
  }
  return [socketRule(AF_NETLINK, NETLINK_ROUTE), others]
}
