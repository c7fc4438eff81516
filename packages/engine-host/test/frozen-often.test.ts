import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  importImage,
  prepareEngine,
  runCommand,
  smallSpec,
  startGuest,
  timeout,
  VERB_TIMEOUT_MS,
} from './support/engine-under-test.ts'
import { missing } from './support/test-machine.ts'

const reason = await missing('root', 'go', 'runsc', 'runc')

/** Long enough for a process of gVisor to wait for its next system call again. */
const betweenMs = 20

test.skipIf(reason !== null).each(['gvisor', 'container'] as const)(
  `a %s that was frozen time and again runs programs (${reason ?? 'ready'})`,
  { timeout: VERB_TIMEOUT_MS },
  async (isolation) => {
    await using under = await prepareEngine()
    const engine = await under.open()
    const freezer = engine.ability('freezer')
    const spec = smallSpec(isolation, await importImage(engine, under))
    const guest = await startGuest(engine, spec)
    for (let round = 0; round < 3; round++) {
      for (let times = 0; times < 5; times++) {
        await freezer?.freeze(spec.id)
        await freezer?.thaw(spec.id)
        await sleep(betweenMs)
      }
      expect(await runCommand(guest, 'echo', 'here')).toMatchObject({ exitCode: 0, output: 'here\n' })
    }
    await engine.remove(spec.id, timeout())
    await engine.close()
  },
)
