import { expect, test } from 'vitest'
import { ALLOWED_SYSCALLS, seccompProfile } from '../../src/bundles/seccomp-profile.ts'

const NEVER = [
  'acct', 'add_key', 'bpf', 'clock_settime', 'clone3', 'delete_module', 'fanotify_init', 'finit_module', 'fsconfig', 'fsmount', 'fsopen', 'fspick',
  'init_module', 'io_uring_enter', 'io_uring_register', 'io_uring_setup', 'ioperm', 'iopl', 'kexec_file_load', 'kexec_load', 'keyctl', 'lookup_dcookie',
  'mount', 'mount_setattr', 'move_mount', 'move_pages', 'open_by_handle_at', 'open_tree', 'perf_event_open', 'pidfd_getfd', 'pivot_root', 'quotactl',
  'quotactl_fd', 'reboot', 'request_key', 'sethostname', 'setns', 'settimeofday', 'swapoff', 'swapon', 'syslog', 'umount2', 'unshare', 'uselib',
  'userfaultfd', 'vhangup',
] // biome-ignore format: a list of words

test('names every call once, in order', () => {
  expect([...new Set(ALLOWED_SYSCALLS)].sort()).toEqual([...ALLOWED_SYSCALLS])
})

test.each(NEVER)('does not allow %s', (name) => {
  const allowed = seccompProfile('x64')
    .syscalls.filter((rule) => rule.action === 'SCMP_ACT_ALLOW')
    .flatMap((rule) => rule.names)
  expect(allowed).not.toContain(name)
})

test('refuses by default and filters one architecture', () => {
  expect(seccompProfile('x64')).toMatchObject({ defaultAction: 'SCMP_ACT_ERRNO', architectures: ['SCMP_ARCH_X86_64'] })
  expect(seccompProfile('arm64').architectures).toEqual(['SCMP_ARCH_AARCH64'])
  expect(() => seccompProfile('mips')).toThrow(expect.objectContaining({ kind: 'not_supported' }))
})

test('allows clone only without new namespaces, and reports clone3 as missing', () => {
  const rules = seccompProfile('x64').syscalls
  expect(rules.find((rule) => rule.names.includes('clone'))?.args).toEqual([
    { index: 0, value: 0x7e020000, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' },
  ])
  expect(rules.find((rule) => rule.names.includes('clone3'))).toMatchObject({ action: 'SCMP_ACT_ERRNO', errnoRet: 38 })
})
