import { EngineError } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import { RuntimeLinks } from '../../../src/runtimes/links/runtime-links.ts'
import { StreamRetry } from '../../../src/runtimes/links/stream-retry.ts'
import type { Runtimes } from '../../../src/runtimes/runtimes.ts'
import { openTestStore } from '../../support/test-store.ts'

test('breaks during an absence of the runtime are retried, and other breaks only a few times', async () => {
  const store = await openTestStore()
  const service = { engine: new FakeEngine(), store, monotonic: () => 1 } as unknown as Runtimes
  const links = new RuntimeLinks(() => service)
  const ref = { projectId: 'pr1', runtimeId: 'rt1' }
  const streamRetry = new StreamRetry({ ...service, links }, { ref, signal: AbortSignal.timeout(10_000) })
  const broken = new EngineError('unavailable', 'the connection broke')
  // There is no row: who got so far as to look for it was not refused.
  const continued = { code: 'runtime_not_found' }
  for (let round = 0; round < 20; round += 1) {
    links.link('rt1').setAway()
    links.link('rt1').setBack()
    await expect(streamRetry.after(broken)).rejects.toMatchObject(continued)
  }
  for (let round = 0; round < 4; round += 1) await expect(streamRetry.after(broken)).rejects.toMatchObject(continued)
  await expect(streamRetry.after(broken)).rejects.toBe(broken)
  await store.close()
})
