import { chmod, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GuestClient } from '@holt/guest-client'
import { expect, test } from 'vitest'
import { imageFlag } from '../src/drivers/gvisor-driver.ts'
import { findProgram } from '../src/tools/find-program.ts'
import { findByArgument, waitGone } from '../src/tools/process-table.ts'
import {
  importImage,
  prepareEngine,
  runCommand,
  smallSpec,
  startGuest,
  timeout,
  VERB_TIMEOUT_MS,
} from './support/engine-under-test.ts'
import { startDaemon } from './support/start-daemon.ts'
import { missing } from './support/test-machine.ts'

const reason = await missing('root', 'go', 'runsc')
const taking = new URL('./support/take-in-daemon.ts', import.meta.url)

test.skipIf(reason !== null)(
  `a runsc of a killed daemon writes nothing once the next daemon runs (${reason ?? 'ready'})`,
  { timeout: VERB_TIMEOUT_MS * 3 },
  async () => {
    await using under = await prepareEngine()
    const { stateDir } = under.options
    const first = await under.open()
    const spec = smallSpec('gvisor', await importImage(first, under))
    await startGuest(first, spec)
    await first.close()
    // As on a machine that is so busy that the runner comes to its work when its daemon is long
    // gone.
    const [go, slow, checkpoints] = ['go', 'slow-runsc', 'checkpoints'].map((name) => join(stateDir, name)) as [
      string,
      string,
      string,
    ]
    const script = [
      '#!/bin/sh',
      `case "$*" in *" checkpoint "*) until test -e ${go}; do sleep 0.05; done;; esac`,
      `exec ${await findProgram('runsc')} "$@"`,
    ]
    await writeFile(slow, `${script.join('\n')}\n`)
    await chmod(slow, 0o700)
    const busy = { ...under, options: { ...under.options, runscPath: slow } }
    const daemon = startDaemon(busy, taking, { id: spec.id, checkpointId: 'cp', leaveRunning: false })
    const atWork = () => findByArgument((argument) => argument.startsWith(imageFlag(join(checkpoints, '.tmp-'))))
    await expect.poll(async () => (await atWork()).length, { timeout: VERB_TIMEOUT_MS }).toBe(1)
    await daemon.kill()
    const runners = await atWork()
    const engine = await under.open()
    await writeFile(go, '')
    await waitGone(runners, VERB_TIMEOUT_MS)
    expect(await readdir(checkpoints)).toEqual([])
    const guest = new GuestClient(await engine.dial(spec.id, timeout()))
    expect((await runCommand(guest, 'echo', 'here')).output).toBe('here\n')
    await engine.remove(spec.id, timeout())
    await engine.close()
    expect(await under.leaks()).toEqual([])
  },
)
