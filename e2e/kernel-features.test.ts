import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { describeClasses, type IsolationClass } from './support/classes.ts'
import { createRuntime } from './support/test-runtime.ts'

// Features of a kernel that programs ask for. LIMITATIONS.md names the missing ones, with a way
// round.

const program = readFileSync(new URL('probe/kernel-features.py', import.meta.url), 'utf8')

const noNamespace = 'unshare: unshare failed: Operation not permitted'

/** The features that are missing, with the answer to a program that asks for them. */
const missing: Readonly<Record<IsolationClass, Readonly<Record<string, string>>>> = {
  gvisor: {
    openat2: 'ENOSYS',
    copy_file_range: 'ENOSYS',
    O_TMPFILE: 'EISDIR',
    RENAME_EXCHANGE: 'EINVAL',
    sock_diag: 'EPROTONOSUPPORT',
    'setarch -R': 'setarch: failed to set personality to (null): Invalid argument',
    '/sys/class/net/lo': 'not there',
    'inotify sysctls': 'not there',
    'E2BIG of a long argument': 'ENAMETOOLONG',
    'blocks of a sparse file': 'as large as the file',
    '/proc/self/ns/cgroup': 'not there',
    'loopback address in a namespace': 'File exists',
  },
  container: {
    sock_diag: 'EPROTONOSUPPORT',
    'user namespace': noNamespace,
    'mount namespace': noNamespace,
    'network namespace': noNamespace,
    'loopback address in a namespace': noNamespace,
    'process namespace': noNamespace,
    'tmpfs in a namespace': noNamespace,
    'bind mount in a namespace': noNamespace,
    'recursive bind mount in a namespace': noNamespace,
    'slave mounts in a namespace': noNamespace,
    'proc in a namespace': noNamespace,
  },
}

describeClasses('the kernel of a runtime', (isolation) => {
  it.each(['user', 'root'] as const)(
    'has the kernel features that programs of %s need, except the listed ones',
    async (user) => {
      await using runtime = await createRuntime({ isolation })
      const found = await runtime.python<Record<string, string>>(program, [], { user })
      expect(Object.fromEntries(Object.entries(found).filter(([, outcome]) => outcome !== 'works'))).toEqual(
        missing[isolation],
      )
    },
  )

  it('gives a fresh uuid at each read', async () => {
    await using runtime = await createRuntime({ isolation })
    const uuids = (await runtime.sh('cat /proc/sys/kernel/random/uuid /proc/sys/kernel/random/uuid')).trim().split('\n')
    for (const uuid of uuids) expect(uuid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    expect(new Set(uuids).size).toBe(2)
  })
})
