import { expect, test } from 'vitest'
import { makeProject } from '../../support/own-project.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'

const keys = '/v1/agents/key'

/**
 * Sends a request for a key whose body ends when that is said, and resolves when the service has
 * let it in.
 */
async function askSlowly(server: TestServer, { key, keyId }: { key: string; keyId: string }) {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.from('{"name": "another", "scopes": ["admin"]')),
    pull: async (controller) => {
      await ended
      controller.enqueue(Buffer.from('}'))
      controller.close()
    },
  })
  const answer = server.ask('POST', keys, { key, body, headers: { 'content-type': 'application/json' } })
  await expect.poll(async () => (await server.ask('GET', `${keys}/${keyId}`)).json.last_used_at).not.toBeNull()
  return { answer, end }
}

interface Ended {
  readonly server: TestServer
  readonly keyId: string
  readonly skip: (ms: number) => void
}

test.each<[string, (of: Ended) => unknown]>([
  ['was revoked', ({ server, keyId }) => server.ask('DELETE', `${keys}/${keyId}`)],
  ['was rotated', ({ server, keyId }) => server.ask('POST', `${keys}/${keyId}/rotate`, { json: { overlap_secs: 0 } })],
  ['has expired', ({ skip }) => skip(61_000)],
  ['went with its project', ({ server }) => server.ask('DELETE', '/v1/agents/project/team')],
])('a key that %s while a body was on its way does nothing with it', async (_, endKey) => {
  let now = Date.now()
  const skip = (ms: number) => {
    now += ms
  }
  const server = await startTestServer({ now: () => now })
  const team = await makeProject(server, 'team')
  const expires_at = new Date(now + 60_000).toISOString()
  const wanted = { name: 'short', scopes: ['admin'], expires_at, project: 'team' }
  const { key, key_id: keyId } = (await server.ask('POST', keys, { json: wanted })).json
  const { answer, end } = await askSlowly(server, { key, keyId })
  await endKey({ server, keyId, skip })
  end()
  expect((await answer).status).toBe(401)
  const { data } = (await server.ask('GET', `${keys}?project=${team.projectId}`)).json
  expect((data ?? []).map(({ name }: { name: string }) => name)).not.toContain('another')
})

test('a slow body is accepted from a valid key', async () => {
  const server = await startTestServer()
  const { key, key_id: keyId } = await server.makeKey('admin')
  const { answer, end } = await askSlowly(server, { key, keyId })
  end()
  expect((await answer).status).toBe(201)
})
