import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { crash, restart } from '../e2e/support/crash.ts'
import { service } from '../e2e/support/facts.ts'
import { listBelongings } from '../e2e/support/leaks.ts'
import { nothingLeft, stateOf } from '../e2e/support/lifecycle/states.ts'
import { stateDir } from '../e2e/support/service-process.ts'
import { createRuntime, type TestRuntime } from '../e2e/support/test-runtime.ts'
import { loseRuntime } from './support/lose-runtime.ts'
import { recordResult } from './support/record-result.ts'

/** Ends a runtime as a reboot does: its processes, cgroups and mounts are gone, and its record is of another boot. The rest of the machine is not asked. */
async function loseInReboot({ id }: TestRuntime): Promise<void> {
  const dir = join(stateDir, 'runtimes', id)
  await loseRuntime(id, dir)
  const record = join(dir, 'runtime.json')
  const before = JSON.parse(readFileSync(record, 'utf8'))
  writeFileSync(record, `${JSON.stringify({ ...before, bootId: 'another-boot' })}\n`)
}

it('after a reboot runtimes that ran have failed with it, what is paused or put aside is as it was, and nothing is left', async () => {
  const before = listBelongings(service)
  const classes = (['gvisor', 'container'] as const).filter((isolation) => service.unavailable[isolation] === null)
  const running = await Promise.all(classes.map((isolation) => createRuntime({ isolation })))
  const paused = classes.includes('gvisor') ? await createRuntime({ isolation: 'gvisor' }) : null
  await paused?.sh('echo kept > /srv/kept')
  await paused?.pause()
  await crash()
  for (const runtime of running) await loseInReboot(runtime)
  for (const name of readdirSync(service.runDir)) rmSync(join(service.runDir, name), { recursive: true, force: true })
  await restart()
  for (const runtime of running) expect((await stateOf(runtime, 'failed')).state_reason?.code).toBe('host_restarted')
  if (paused !== null) {
    expect((await paused.refresh()).state).toBe('paused')
    expect(await paused.sh('cat /srv/kept')).toBe('kept')
    await paused.delete()
  }
  for (const isolation of classes) {
    await using made = await createRuntime({ isolation })
    expect((await made.run('echo works')).stdout).toBe('works\n')
  }
  await nothingLeft(before)
  recordResult('reboot', { classes, failed: running.length, paused_kept: paused === null ? 0 : 1 })
})
