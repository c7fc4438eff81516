import { access } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { detectCgroups } from '../src/cgroups/detect-cgroups.ts'
import { RuntimeCgroup } from '../src/cgroups/runtime-cgroup.ts'
import { haltRuntimes } from '../src/index.ts'
import { layoutOf } from '../src/installation/layout.ts'
import { importImage, prepareEngine, smallSpec, timeout, VERB_TIMEOUT_MS } from './support/engine-under-test.ts'
import { missing } from './support/test-machine.ts'

const reason = await missing('root', 'go', 'runsc', 'runc')
const isolations = ['gvisor', 'container'] as const

test.skipIf(reason !== null).each([false, true])(
  `ends runtimes without an engine, frozen: %s, and leaves the disks to the next one (${reason ?? 'ready'})`,
  { timeout: VERB_TIMEOUT_MS * 3 },
  async (frozen) => {
    await using under = await prepareEngine()
    const { options } = under
    const engine = await under.open()
    const image = await importImage(engine, under)
    const specs = isolations.map((isolation) => smallSpec(isolation, image))
    for (const spec of specs) {
      await engine.ensure(spec, timeout())
      if (frozen) await engine.ability('freezer')?.freeze(spec.id)
    }
    await engine.close()

    const cgroups = await detectCgroups()
    const processes = async () => {
      const parent = `/holt-${options.installationId}`
      const all = specs.map(({ id }) => new RuntimeCgroup({ cgroups, freezer: null }, parent, id).processes())
      return (await Promise.all(all)).map(({ length }) => length)
    }
    expect(await processes()).not.toContain(0)
    expect(await haltRuntimes(options)).toEqual([])
    expect(await processes()).toEqual([0, 0])
    expect(await haltRuntimes(options)).toEqual([])
    for (const { id } of specs) await access(layoutOf(options.stateDir, options.runDir).runtime(id).diskImage)

    const next = await under.open()
    for (const { id } of specs) {
      expect(await next.inspect(id)).toMatchObject({ state: 'ended', ending: { reason: 'crashed' } })
      await next.remove(id, timeout())
    }
    await next.close()
    expect(await under.leaks()).toEqual([])
  },
)

test('does nothing if no engine was ever opened', async () => {
  const none = { stateDir: '/nowhere/state', runDir: '/nowhere/run', installationId: 'none' }
  expect(await haltRuntimes(none)).toEqual([])
})
