import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runCommand, VERB_TIMEOUT_MS, withRuntime } from './support/engine-under-test.ts'
import { missing } from './support/test-machine.ts'

const reason = await missing('root', 'go', 'runsc', 'runc')

/** Long enough for a process of gVisor to wait for its next system call again. */
const betweenMs = 20

test.skipIf(reason !== null).each(['gvisor', 'container'] as const)(
  `a %s that was frozen time and again runs programs (${reason ?? 'ready'})`,
  { timeout: VERB_TIMEOUT_MS },
  (isolation) =>
    withRuntime(isolation, async ({ engine, id, guest }) => {
      const freezer = engine.ability('freezer')
      for (let round = 0; round < 3; round++) {
        for (let times = 0; times < 5; times++) {
          await freezer?.freeze(id)
          await freezer?.thaw(id)
          await sleep(betweenMs)
        }
        expect(await runCommand(guest, 'echo', 'here')).toMatchObject({ exitCode: 0, output: 'here\n' })
      }
    }),
)
