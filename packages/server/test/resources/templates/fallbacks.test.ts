import { expect, test } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'

const told = 'a checkpoint cannot be restored: runtimes of its template boot cold'

test('each cold boot in place of a restore is counted, and logged once for a template', async () => {
  const { ask, engine, logged, makeRuntime } = await startTestServer()
  const readyz = async () => (await ask('GET', '/readyz')).json.fallbacks
  await makeRuntime()
  await makeRuntime({ memory: 2 })
  expect(await readyz()).toEqual([])
  for (const { checkpointId } of (await engine.ability('checkpoints')?.list()) ?? [])
    engine.spoil(checkpointId, 'incompatible')
  await makeRuntime()
  await makeRuntime()
  await makeRuntime({ template: 'base-medium' })
  expect(await readyz()).toEqual([{ isolation: 'gvisor', reason: 'incompatible', count: 3 }])
  expect((await ask('GET', '/metrics')).text).toContain(
    'holt_checkpoint_fallbacks_total{isolation="gvisor",reason="incompatible"} 3',
  )
  await expect
    .poll(() => logged.filter(({ message }) => message === told).map(({ facts }) => facts))
    .toMatchObject([
      { template: 'base-small', reason: 'incompatible' },
      { template: 'base-medium', reason: 'incompatible' },
    ])
})
