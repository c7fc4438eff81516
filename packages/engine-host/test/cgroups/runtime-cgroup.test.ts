import { spawn } from 'node:child_process'
import { mkdir, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeId } from '@holt/protocol'
import { expect, test } from 'vitest'
import { CgroupFreezer, findFreezer } from '../../src/cgroups/cgroup-freezer.ts'
import { detectCgroups } from '../../src/cgroups/detect-cgroups.ts'
import { RuntimeCgroup } from '../../src/cgroups/runtime-cgroup.ts'
import { missing } from '../support/test-machine.ts'

const reason = await missing('root')

test.skipIf(reason !== null).each([false, true])(
  `kills all processes in the cgroups, frozen: %s, removes them, and does nothing the next time (${reason ?? 'ready'})`,
  async (frozen) => {
    const host = await detectCgroups()
    const parent = `/holt-test-${makeId('runtime')}`
    const place = await findFreezer(host)
    const cgroup = new RuntimeCgroup({ cgroups: host, freezer: place }, parent, 'a')
    const child = spawn('/bin/sh', ['-c', 'sleep 1000 & sleep 1000'], { stdio: 'ignore' })
    const ended = new Promise((resolve) => child.on('exit', (_, signal) => resolve(signal)))
    try {
      for (const point of host.hierarchies) {
        await mkdir(join(point, cgroup.path), { recursive: true })
        // A version 1 cpuset takes processes only with cpus of its own; this one stays empty.
        if (!point.includes('cpuset')) await writeFile(join(point, cgroup.path, 'cgroup.procs'), String(child.pid))
      }
      expect(await cgroup.processes()).toContain(child.pid)
      if (frozen && place !== null) await new CgroupFreezer(place, cgroup.path).freeze()
      await cgroup.kill()
      expect(await ended).toBe('SIGKILL')
      await cgroup.remove()
      await cgroup.kill()
      await cgroup.remove()
      expect(await cgroup.processes()).toEqual([])
    } finally {
      child.kill('SIGKILL')
      for (const point of host.hierarchies) await rmdir(join(point, parent)).catch(() => {}) // Never made.
    }
  },
)
