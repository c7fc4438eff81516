import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { digestOf } from '../../../src/tenancy/auth/key-secret.ts'
import { LikelyProjects } from '../../../src/tenancy/auth/likely-projects.ts'
import { makeProject } from '../../support/own-project.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const headerOf = (secret: string) => `Bearer ${secret}`

test('knows the project of a valid key until it is forgotten, and of no other key', () => {
  const likely = new LikelyProjects()
  expect(likely.of(headerOf('right'))).toBeNull()
  likely.note(digestOf('right'), 'project')
  likely.note(digestOf('previous'), 'project')
  likely.note(digestOf('other'), 'other')
  expect(likely.of(headerOf('right'))).toBe('project')
  for (const header of [undefined, '', 'right', 'Basic right', headerOf('righ'), headerOf(digestOf('right'))])
    expect(likely.of(header)).toBeNull()
  likely.forget(digestOf('right'), digestOf('previous'), null, digestOf('never there'))
  expect(likely.of(headerOf('right'))).toBeNull()
  expect(likely.of(headerOf('previous'))).toBeNull()
  expect(likely.of(headerOf('other'))).toBe('other')
})

test('a user of thousands of keys evicts only their own', () => {
  const likely = new LikelyProjects()
  likely.note(digestOf('mine'), 'mine')
  for (let n = 0; n < 10_000; n += 1) {
    likely.note(digestOf(`${n}`), 'flood')
    likely.note(digestOf('0'), 'flood')
  }
  expect(likely.of(headerOf('mine'))).toBe('mine')
  expect(likely.of(headerOf('9999'))).toBe('flood')
  expect(likely.of(headerOf('0'))).toBe('flood')
  expect(likely.of(headerOf('1'))).toBeNull()
})

/** A connection, and what asks over it with a key and resolves when the answer begins. */
async function open(url: string) {
  const { hostname, port } = new URL(url)
  const socket: Socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  return (headers: string) => {
    socket.write(`GET /v1/agents/key/none HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`)
    return new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data).slice(9, 12))))
  }
}

test('on a new connection, a known key queues with its project, and an invalidated key with its address', async () => {
  const holt = await startTestServer()
  const { server, ask } = holt
  const strangers = await Promise.all(Array.from({ length: 80 }, () => open(server.url)))
  const answered: string[] = []
  /**
   * How the request of a new connection was answered that came after those of many strangers, and
   * before how many of them.
   */
  const placeOf = async (secret: string, headers = `Authorization: Bearer ${secret}`) => {
    const client = await open(server.url)
    answered.length = 0
    const strange = strangers.map((each) =>
      each('Authorization: Bearer holt_wrong').then(() => void answered.push('stranger')),
    )
    const status = client(headers).then((code) => {
      answered.push('client')
      return code
    })
    await Promise.all([...strange, status])
    return [await status, answered.indexOf('client') < 40]
  }
  const team = await makeProject(holt, 'team')
  const make = async (name: string) => {
    const { key, key_id } = (await team.ask('POST', '/v1/agents/key', { json: { name, scopes: ['admin'] } })).json
    return { secret: key as string, path: `/v1/agents/key/${key_id}` }
  }
  const [used, unused, revoked, rotated] = [await make('a'), await make('b'), await make('c'), await make('d')]
  for (const { secret } of [used, revoked, rotated]) await ask('GET', '/v1/agents/key', { key: secret })
  expect(await placeOf(unused.secret)).toEqual(['404', false])
  expect(await placeOf(used.secret)).toEqual(['404', true])
  // A session of the console is in the queue of its project.
  const page = 'p'.repeat(43)
  const signedIn = await ask('POST', '/console/session', {
    key: used.secret,
    headers: { 'x-holt-console': page, origin: server.url },
  })
  const cookie = signedIn.headers.get('set-cookie')?.split(';', 1)[0]
  const session = `Cookie: ${cookie}\r\nX-Holt-Console: ${signedIn.json.key_id}.${page}`
  expect(await placeOf('', session)).toEqual(['404', false])
  expect(await placeOf('', session)).toEqual(['404', true])
  expect((await team.ask('DELETE', revoked.path)).status).toBe(204)
  expect(await placeOf(revoked.secret)).toEqual(['401', false])
  expect((await team.ask('POST', `${rotated.path}/rotate`, { json: { overlap_secs: 0 } })).status).toBe(200)
  expect(await placeOf(rotated.secret)).toEqual(['401', false])
  expect((await ask('DELETE', '/v1/agents/project/team')).status).toBe(204)
  expect(await placeOf(used.secret)).toEqual(['401', false])
})
