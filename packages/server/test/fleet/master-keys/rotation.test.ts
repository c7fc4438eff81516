import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startHost } from '../../support/fleet.ts'
import { openTestStore } from '../../support/test-store.ts'

const route = '/v1/agents/secret-key/rotate'

test('one host of a fleet does not replace the master key of all', async () => {
  const store = await openTestStore()
  const [one, two] = [await startHost(store), await startHost(store)]
  const keysOf = (at: typeof one) => readFile(join(at.server.stateDir, 'master-keys.json'), 'utf8')
  const before = await keysOf(one)
  await one.server.ask('POST', '/v1/agents/secret', { json: { name: 'openai', value: 'of-the-secret' } })
  expect(await one.server.ask('POST', route)).toMatchObject({ status: 409 })
  expect([await keysOf(one), await keysOf(two)]).toEqual([before, before])
})
