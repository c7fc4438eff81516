import { watch } from 'node:fs'
import { readFile, readlink, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { GuestClient } from '@holt/guest-client'
import { expect, test } from 'vitest'
import {
  importImage,
  prepareEngine,
  processOf,
  smallSpec,
  startGuest,
  timeout,
  VERB_TIMEOUT_MS,
} from './support/engine-under-test.ts'
import { processesOf } from './support/processes-of.ts'
import { missing } from './support/test-machine.ts'

const reason = await missing('root', 'go', 'runc')

test.skipIf(reason !== null)(
  `root of a container is a separate user on the host, with separate files and limits (${reason ?? 'ready'})`,
  { timeout: VERB_TIMEOUT_MS * 2 },
  async () => {
    await using under = await prepareEngine()
    const engine = await under.open()
    try {
      const image = await importImage(engine, under)
      const [one, two] = [smallSpec('container', image), smallSpec('container', image)]
      const guests = [await startGuest(engine, one), await startGuest(engine, two)] as const

      const users = [await userOf(one.id), await userOf(two.id)]
      expect(users).not.toContain(0)
      expect(users[0]).not.toBe(users[1])

      // Other installations of the host see that the range is taken.
      const record = join(under.options.stateDir, 'runtimes', one.id, 'runtime.json')
      expect(await readlink(`/run/holt-ids/${users[0]}`)).toBe(record)

      // Root of one runtime takes no resources from root of the other, or from the host.
      const taken = await takeInotify(guests[0])
      expect(taken).toBeGreaterThan(0)
      expect(await takeInotify(guests[1])).toBe(taken)
      watch(under.options.stateDir).close()

      // The host sees that user for the processes, and the container's own ids on its disk.
      const runtime = join(under.options.stateDir, 'runtimes', one.id)
      expect((await stat(join(runtime, 'rootfs/etc/hostname'))).uid).toBe(users[0])
      expect((await stat(join(runtime, 'disk/upper/etc/hostname'))).uid).toBe(0)

      for (const { id } of [one, two]) await engine.remove(id, timeout())
      expect(await under.leaks()).toEqual([])
    } finally {
      await engine.close()
    }
  },
)

/** Returns the host's user of every process of a runtime (proc_pid_status(5)). */
async function userOf(id: string): Promise<number> {
  const pids = await processesOf(id)
  const texts = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/status`, 'utf8')))
  const users = new Set(texts.map((text) => Number(/^Uid:\t(\d+)/m.exec(text)?.[1])))
  expect(users.size).toBe(1)
  return [...users][0] ?? 0
}

/** Returns the number of inotify instances that root could take, and keeps them. */
async function takeInotify(guest: GuestClient): Promise<number> {
  for await (const item of await guest.processes.run(processOf(['/bin/probe', 'inotify']), timeout()))
    if (item.type === 'stdout') return Number(Buffer.from(item.data, 'base64').toString())
  throw new Error('it said nothing')
}
