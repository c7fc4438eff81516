import { Key, Policy, Snapshot } from '@holt/protocol'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { call, failure, runtimesPath, success } from '../e2e/support/api.ts'
import { crash, restart } from '../e2e/support/crash.ts'
import { service } from '../e2e/support/facts.ts'
import { listBelongings } from '../e2e/support/leaks.ts'
import { LivingProcess } from '../e2e/support/lifecycle/living-process.ts'
import { nothingLeft, stateOf } from '../e2e/support/lifecycle/states.ts'
import { createRuntime } from '../e2e/support/test-runtime.ts'
import { callSnapshot, deleteSnapshots } from '../e2e/support/test-snapshots.ts'
import { bootOfHost, loseAllInReboot, notedClock } from './support/reboot.ts'
import { recordResult } from './support/record-result.ts'

const classes = (['gvisor', 'container'] as const).filter((isolation) => service.unavailable[isolation] === null)
const hasMemory = classes.includes('gvisor')

/** Long enough that no deadline comes while the test runs. */
const timeoutSecs = 7_200

it('after a reboot, running runtimes have failed, paused ones and snapshots are unchanged, and nothing is left', async () => {
  const before = listBelongings(service)
  const running = await Promise.all(
    classes.map((isolation) => createRuntime({ isolation, timeout_secs: timeoutSecs, on_timeout: 'terminate' })),
  )
  const [source] = running
  if (source === undefined) throw new Error('no class of isolation is available')
  await source.sh('echo kept > /srv/kept')
  const living = hasMemory ? await LivingProcess.start(source) : null
  await living?.add(7)
  const files = await source.snapshot({ kind: 'filesystem' })
  const memory = hasMemory ? await source.snapshot({ kind: 'memory' }) : null
  const snapshots = [files, ...(memory === null ? [] : [memory])]
  const paused = hasMemory ? await createRuntime({ isolation: 'gvisor', timeout_secs: timeoutSecs }) : null
  await paused?.sh('echo kept > /srv/kept')
  const asleep = await paused?.pause()
  const settings = await promise()

  await crash()
  await loseAllInReboot()
  await restart()

  for (const runtime of running) {
    const failed = await stateOf(runtime, 'failed')
    expect(failed.state_reason?.code).toBe('host_restarted')
    // The clock of another boot tells nothing: no deadline moves.
    expect(failed.expires_at).toBe(runtime.data.expires_at)
  }
  expect(notedClock().bootId).toBe(bootOfHost())
  for (const one of snapshots) expect(success(await callSnapshot('GET', one.snapshot_id), 200, Snapshot)).toEqual(one)
  await using ofFiles = await createRuntime({ snapshot: files.snapshot_id })
  expect(await ofFiles.sh('cat /srv/kept')).toBe('kept')
  if (memory !== null) {
    await using ofMemory = await createRuntime({ snapshot: memory.snapshot_id })
    expect(await ofMemory.sh('cat /srv/kept')).toBe('kept')
    expect((await living?.in(ofMemory).look())?.total).toBe(7)
  }
  if (paused !== null) {
    expect(await paused.refresh()).toEqual(asleep)
    const resumedAt = Date.now()
    expect(await paused.sh('cat /srv/kept')).toBe('kept')
    const { expires_at } = await paused.refresh()
    const countedFrom = Date.parse(`${expires_at}`) - timeoutSecs * 1000
    expect(countedFrom).toBeGreaterThanOrEqual(resumedAt)
    expect(countedFrom).toBeLessThanOrEqual(Date.now())
    await paused.delete()
  }
  await settings.check()
  for (const isolation of classes) {
    await using made = await createRuntime({ isolation })
    expect((await made.run('echo works')).stdout).toBe('works\n')
  }
  await ofFiles.delete()
  await deleteSnapshots(...snapshots.map(({ snapshot_id }) => snapshot_id))
  await nothingLeft(before)
  recordResult('reboot', {
    classes,
    failed: running.length,
    paused_kept: paused === null ? 0 : 1,
    snapshots_kept: snapshots.length,
  })
})

/**
 * Creates a policy, a valid key and a revoked key. `check` expects all of them after the reboot,
 * and removes them.
 */
async function promise(): Promise<{ check(): Promise<void> }> {
  const [policies, keys] = ['/v1/agents/network-policy', '/v1/agents/key']
  const policy = success(
    await call('POST', policies, { json: { name: 'over-a-reboot', allow: [{ host: 'api.example.com' }] } }),
    201,
    Policy,
  )
  const makeKey = async () =>
    success(await call('POST', keys, { json: { name: 'over-a-reboot' } }), 201, Key.extend({ key: z.string() }))
  const [valid, revoked] = [await makeKey(), await makeKey()]
  expect((await call('DELETE', `${keys}/${revoked.key_id}`)).status).toBe(204)
  return {
    async check() {
      expect(success(await call('GET', `${policies}/over-a-reboot`), 200, Policy)).toEqual(policy)
      expect((await call('GET', runtimesPath, { key: valid.key })).status).toBe(200)
      failure(await call('GET', runtimesPath, { key: revoked.key }), 'unauthenticated')
      expect((await call('DELETE', `${keys}/${valid.key_id}`)).status).toBe(204)
      expect((await call('DELETE', `${policies}/${policy.policy_id}`)).status).toBe(204)
    },
  }
}
