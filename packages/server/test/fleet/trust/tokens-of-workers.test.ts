import { createServer } from 'node:http'
import { makeId } from '@holt/protocol'
import { expect, test, vi } from 'vitest'
import { parseConfig } from '../../../src/index.ts'
import { withE2b } from '../../support/e2b-server.ts'
import type { TestHost } from '../../support/fleet.ts'
import { runtimePath as path, patience } from '../../support/moving-fleet.ts'
import { startWorkerFleet, strangerAs } from '../../support/worker-fleet.ts'

const { e2b } = parseConfig({ HOLT_STATE_DIR: '/nowhere', HOLT_E2B: 'on' })

/** Starts a fleet whose workers have a runtime with a program at port 3000. */
async function startWithProgram(workers = 1) {
  const fleet = await startWorkerFleet({ workers })
  const [front] = fleet.fronts as [TestHost]
  const { runtime_id: runtimeId } = await vi.waitUntil(async () => {
    const made = await front.server.ask('POST', path, { json: {} })
    return made.status === 201 ? made.json : null
  }, patience)
  const rows = fleet.store.db.selectFrom('runtimes').selectAll()
  const { host_id, project_id: projectId } = await rows.executeTakeFirstOrThrow()
  const owner = fleet.workers.find(({ hostId }) => hostId === host_id)
  if (owner === undefined) throw new Error('no worker has the runtime')
  const other = fleet.workers.find(({ hostId }) => hostId !== host_id) ?? owner
  const program = createServer((_, response) => response.end('open'))
  owner.engine.guest(runtimeId)?.ports.listen(3000, (connection) => void program.emit('connection', connection))
  return { fleet, front, owner, other, projectId, runtimeId: runtimeId as string }
}

test('a link to a port of a worker is valid at fronts, until the port is rotated', async () => {
  const { front, runtimeId } = await startWithProgram()
  const link = `${path}/${runtimeId}/ports/3000`
  const { token } = (await front.server.ask('GET', link)).json
  const visit = async (given: string) => {
    const answer = await fetch(`${front.server.server.url}${link}/proxy/`, { headers: { 'x-holt-port-token': given } })
    return [answer.status, answer.status === 200 ? await answer.text() : '']
  }
  expect(await visit(token)).toEqual([200, 'open'])
  expect(await visit(`${token.slice(0, -4)}AAAA`)).toEqual([401, ''])
  const next = (await front.server.ask('POST', `${link}/rotate`)).json
  expect(await visit(token)).toEqual([401, ''])
  expect(await visit(next.token)).toEqual([200, 'open'])
})

test('the access token of a sandbox on a worker is valid at fronts', async () => {
  const { fronts } = await startWorkerFleet({ config: { e2b } })
  const client = withE2b((fronts[0] as TestHost).server)
  const made = await vi.waitUntil(async () => {
    const answer = await client.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base', timeout: 600 } })
    return answer.status === 201 ? answer.json : null
  }, patience)
  const headers = {
    ...{ 'e2b-sandbox-id': made.sandboxID, 'e2b-sandbox-port': '49983' },
    ...{ 'x-access-token': made.envdAccessToken, 'content-type': 'application/octet-stream' },
  }
  const write = (token: string) =>
    client.e2b('POST', '/files?path=/tmp/a', { headers: { ...headers, 'x-access-token': token }, body: 'x', key: null })
  expect((await write(made.envdAccessToken)).status).toBe(200)
  expect((await write(`${made.envdAccessToken.slice(0, -4)}0000`)).status).toBe(401)
})

test('a stranger with the certificate of a worker gets no token but those of its own runtimes', async () => {
  const { fleet, front, owner, other, projectId, runtimeId } = await startWithProgram(2)
  const { key_id: keyId } = await fleet.store.db.selectFrom('keys').select('key_id').executeTakeFirstOrThrow()
  const [asOwner, asOther] = [await strangerAs(fleet, owner), await strangerAs(fleet, other)]
  const token = { port: 3000, generation: 0, keyId, keyVersion: 1, expiresAtSecs: 9_999_999_999 }
  const [port, sandbox] = ['/peer/port-token', '/peer/sandbox-token']
  const ref = { projectId, runtimeId }
  expect(await asOwner(front, port, { ...ref, ...token })).toHaveProperty('token')
  expect(await asOwner(front, sandbox, { ...ref, use: 'envd' })).toHaveProperty('token')
  const refused = [
    asOther(front, port, { ...ref, ...token }),
    asOther(front, sandbox, { ...ref, use: 'envd' }),
    asOwner(front, port, { ...ref, ...token, runtimeId: makeId('runtime') }),
    asOwner(front, port, { ...ref, ...token, keyId: makeId('key') }),
  ]
  const ends = await Promise.allSettled(refused)
  expect(ends.map((end) => end.status === 'rejected' && end.reason.code)).toEqual(refused.map(() => 'forbidden'))
})
