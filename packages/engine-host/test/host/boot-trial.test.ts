import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Isolation } from '@holt/engine'
import { expect, test } from 'vitest'
import { trialId, trialOptions } from '../../src/host/boot-trial.ts'
import { createHostEngine } from '../../src/index.ts'
import { findProgram } from '../../src/tools/find-program.ts'
import { importImage, prepareEngine, smallSpec, timeout } from '../support/engine-under-test.ts'
import { missing } from '../support/test-machine.ts'

const reason = await missing('root', 'runsc', 'runc', 'go')
const options = { timeout: 120_000 }

/** A runner that runs the real one, but fails at each start and notes it. */
async function failingRunner(dir: string, real: string): Promise<{ path: string; starts: () => Promise<number> }> {
  const path = join(dir, 'failing')
  const noted = join(dir, 'starts')
  const script = `for each; do case $each in run|create) echo . >>${noted}; exit 3;; esac; done\nexec ${real} "$@"`
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
  return { path, starts: async () => (await readFile(noted, 'utf8').catch(() => '')).split('\n').length - 1 }
}

test.skipIf(reason !== null)(
  `a class is available after a trial runtime has booted and left nothing (${reason ?? 'ready'})`,
  options,
  async () => {
    await using under = await prepareEngine()
    const engine = await under.open()
    const { gvisor, container } = (await engine.describe()).isolation
    expect([gvisor, container]).toMatchObject([{ available: true }, { available: true }])
    await engine.close()
    const { stateDir } = under.options
    expect(Object.keys(JSON.parse(await readFile(join(stateDir, 'booted.json'), 'utf8'))).sort()).toEqual([
      'container',
      'gvisor',
    ])
    expect((await readdir(stateDir)).filter((name) => name.startsWith('trial'))).toEqual([])
    expect(await under.leaks()).toEqual([])
  },
)

test.skipIf(reason !== null).each<Isolation>(['gvisor', 'container'])(
  `the next start removes what a killed one has left of a trial of %s (${reason ?? 'ready'})`,
  options,
  async (isolation) => {
    await using under = await prepareEngine()
    const own = trialOptions(under.options, isolation)
    await mkdir(under.options.stateDir, { recursive: true })
    await mkdir(under.options.runDir, { recursive: true })
    const trial = await createHostEngine(own)
    const spec = { ...smallSpec(isolation, await importImage(trial, under)), id: trialId }
    await trial.ensure(spec, timeout())
    await trial.close()
    expect(await under.leaks()).not.toEqual([])
    const engine = await under.open()
    await engine.close()
    expect(await readdir(under.options.stateDir)).not.toContain(`trial-${isolation}`)
    expect(await under.leaks()).toEqual([])
  },
)

test.skipIf(reason !== null).each<[Isolation, 'runscPath' | 'runcPath', string]>([
  ['gvisor', 'runscPath', process.env.HOLT_RUNSC ?? 'runsc'],
  ['container', 'runcPath', 'runc'],
])(
  `a runner of %s whose starts fail makes the class missing, and a create says so (${reason ?? 'ready'})`,
  options,
  async (isolation, path, name) => {
    await using under = await prepareEngine()
    const failing = await failingRunner(join(under.tree, '..'), (await findProgram(name)) ?? name)
    const engine = await createHostEngine({ ...under.options, [path]: failing.path })
    const image = await importImage(engine, under)
    const start = () => engine.ensure(smallSpec(isolation, image), timeout())
    await expect(start()).rejects.toMatchObject({
      kind: 'not_supported',
      message: expect.stringMatching(/trial start.*fails/),
    })
    expect(await failing.starts()).toBe(2)
    await expect(start()).rejects.toMatchObject({ kind: 'not_supported' })
    expect(await failing.starts()).toBe(3)
    expect((await engine.describe()).isolation[isolation]).toMatchObject({
      available: false,
      reason: expect.stringMatching(/trial start.*fails/),
    })
    await engine.close()
    expect(await under.leaks()).toEqual([])
  },
)
