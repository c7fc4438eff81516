import '../support/enable-failpoints.ts'
import { BuildError } from '@holt/builder'
import { afterAll, expect, test } from 'vitest'
import { Failpoints, removeFailpoints } from '../support/failpoints.ts'
import { ended, FakeBuilder } from '../support/fake-builder.ts'
import { keepingLog, startTestServer } from '../support/start-test-server.ts'

afterAll(removeFailpoints)

const unwritten = 'the end of a build could not be written'

test('the end of a build is written later if the store refuses it', async () => {
  const failpoints = new Failpoints(process.env.HOLT_FAILPOINTS)
  const builder = new FakeBuilder()
  const { log, logged } = keepingLog()
  const { ask } = await startTestServer({ builder, log })
  const isRefused = () => logged.some(({ message }) => message === unwritten)
  // Other changes of the store may come between the failure of the build and its end, and their
  // number differs.
  for (let round = 0; !isRefused() && round < 30; round++) {
    const hit = (round % 3) + 1
    builder.script = async () => {
      failpoints.arm({ name: 'store.change', hit, action: 'error' })
      throw new BuildError('step_failed', 'no such file')
    }
    const json = { name: `app-${round}`, dockerfile: 'FROM scratch' }
    const { build_id } = (await ask('POST', '/v1/agents/template/build', { json })).json
    expect(await ended({ ask }, build_id)).toMatchObject({ status: 'failed', reason: { code: 'step_failed' } })
    failpoints.arm(null)
  }
  expect(isRefused()).toBe(true)
})
