import { expect, test } from 'vitest'
import { buildTemplate, builtSize, checkpointing, checkpointsOf } from '../../support/checkpointing-builder.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const told = 'a checkpoint cannot be restored: runtimes of its template boot cold'

test('each cold boot in place of a restore is counted, and logged once for a template', async () => {
  const server = await startTestServer({ builder: checkpointing() })
  const { ask, engine, logged } = server
  const readyz = async () => (await ask('GET', '/readyz')).json.fallbacks
  for (const name of ['one', 'other']) await buildTemplate(server, name)
  const makeRuntime = (template: string, more: object = {}) => server.makeRuntime({ template, ...builtSize, ...more })
  await makeRuntime('one')
  await makeRuntime('one', { memory: '2GiB' })
  await server.makeRuntime({ template: 'base-small' })
  expect(await readyz()).toEqual([])
  for (const { checkpointId } of await checkpointsOf(engine)) engine.spoil(checkpointId, 'incompatible')
  await makeRuntime('one')
  await makeRuntime('one')
  await makeRuntime('other')
  expect(await readyz()).toEqual([{ isolation: 'gvisor', reason: 'incompatible', count: 3 }])
  expect((await ask('GET', '/metrics')).text).toContain(
    'holt_checkpoint_fallbacks_total{isolation="gvisor",reason="incompatible"} 3',
  )
  await expect
    .poll(() => logged.filter(({ message }) => message === told).map(({ facts }) => facts))
    .toMatchObject([
      { template: 'one', reason: 'incompatible' },
      { template: 'other', reason: 'incompatible' },
    ])
})
