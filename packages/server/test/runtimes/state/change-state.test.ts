import { expect, onTestFinished, test } from 'vitest'
import type { Runtimes } from '../../../src/runtimes/runtimes.ts'
import { changeState } from '../../../src/runtimes/state/change-state.ts'
import { OpenVisits } from '../../../src/tenancy/auth/open-visits.ts'
import { startTestServer } from '../../support/start-test-server.ts'
import { openTestStore } from '../../support/test-store.ts'

test('a connection that comes between a change and its durability is one from after it', async () => {
  const server = await startTestServer()
  await server.makeRuntime()
  await server.close()
  const store = await openTestStore(server.stateDir)
  onTestFinished(() => store.close())
  const visits = new OpenVisits()
  const cut: string[] = []
  visits.enter('none', () => cut.push('other'))
  const seen = async () => store.db.selectFrom('runtimes').selectAll().executeTakeFirstOrThrow()
  const change: Runtimes['store']['change'] = async (alone, run, options) => {
    const result = await store.change(alone, run, options)
    // Durability takes a while, and readers see the row meanwhile.
    const { runtime_id, state } = await seen()
    visits.enter(runtime_id, () => cut.push(`saw ${state}`))
    return result
  }
  const { host_id: hostId, host_epoch: epoch } = await seen()
  const parts = { now: () => Date.now(), visits, thisHost: { hostId, epoch, fenced: false } }
  const service = { ...parts, store: { ...store, change } } as unknown as Runtimes
  visits.enter((await seen()).runtime_id, () => cut.push('before'))
  for (const to of ['pausing', 'paused'] as const)
    expect(await changeState(service, await seen(), { to })).not.toBe(null)
  expect(cut).toEqual(['before'])
})
