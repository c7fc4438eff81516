import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { makeId, portTokenHeader } from '@holt/protocol'
import { describe, expect, test, vi } from 'vitest'
import { ended, FakeBuilder } from '../../support/fake-builder.ts'
import { hostRow, pass, type TestHost } from '../../support/fleet.ts'
import { inside } from '../../support/inside.ts'
import { type JoinedFleet, startJoinedFleet } from '../../support/joined-fleet.ts'
import {
  belongsToNone,
  expectFile,
  makeWithFile,
  runtimePath as path,
  patience,
  pauseAt,
  rowOf,
} from '../../support/moving-fleet.ts'
import { ask, hasPostgres } from '../../support/postgres-cluster.ts'
import { strangerAs } from '../../support/worker-fleet.ts'

/** Returns the worker that has a runtime, and the other one. */
async function ownerOf(fleet: JoinedFleet, id: string): Promise<readonly [TestHost, TestHost]> {
  const { host_id } = await rowOf(fleet, id)
  const owner = fleet.workers.find(({ hostId }) => hostId === host_id)
  const other = fleet.workers.find(({ hostId }) => hostId !== host_id)
  if (owner === undefined || other === undefined) throw new Error('no worker has the runtime')
  return [owner, other]
}

/** Sets what an operator wants of a host, and waits until all hosts see it. */
async function wish({ front, store, workers }: JoinedFleet, host: TestHost, verb: string, state: string) {
  expect((await front.server.ask('POST', `/v1/agents/host/${host.hostId}/${verb}`)).status).toBeLessThan(300)
  await vi.waitUntil(async () => (await hostRow(store, host)).state === state, patience)
  const hosts = [front, ...workers]
  await pass(1, { store, hosts, beating: hosts })
}

/** Returns the errors, the refusals and what could not be written in the logs of hosts. */
function failures(hosts: readonly TestHost[]): readonly unknown[] {
  return hosts.flatMap(({ server }) =>
    server.logged.filter(({ level, message }) => level === 'error' || /refused|could not be written/.test(message)),
  )
}

describe.skipIf(!hasPostgres())('a front and workers with roles of their own', () => {
  test('a runtime lives on one worker and continues at the other', async () => {
    const fleet = await startJoinedFleet(2)
    const { front, workers } = fleet
    const id = await makeWithFile(front)
    const [first, second] = await ownerOf(fleet, id)
    expect(await inside(front.server).run(id, 'echo', 'here')).toBe('here\n')
    const program = createServer((_, response) => response.end('from inside'))
    first.engine.guest(id)?.ports.listen(3000, (connection) => void program.emit('connection', connection))
    const { json } = await front.server.ask('GET', `${path}/${id}/ports/3000?expires_in_secs=60`)
    const headers = { [portTokenHeader]: json.token }
    const visit = await fetch(`${front.server.server.url}${path}/${id}/ports/3000/proxy/`, { headers })
    expect([visit.status, await visit.text()]).toEqual([200, 'from inside'])
    await pauseAt(front, id)
    await belongsToNone(fleet, id)
    await wish(fleet, first, 'cordon', 'cordoned')
    expect((await front.server.ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
    expect((await rowOf(fleet, id)).host_id).toBe(second.hostId)
    await expectFile(front, id)
    const changed = await front.server.ask('PATCH', `${path}/${id}`, { json: { metadata: { is: 'changed' } } })
    expect([changed.status, changed.json.metadata]).toEqual([200, { is: 'changed' }])
    expect((await front.server.ask('DELETE', `${path}/${id}`)).status).toBe(204)
    expect(await second.engine.inspect(id)).toBeNull()
    const open = fleet.store.db.selectFrom('audit').select(['route', 'subject_id']).where('status', 'is', null)
    await vi.waitFor(async () => expect(await open.execute()).toEqual([]), patience)
    expect(failures([front, ...workers])).toEqual([])
  })

  test('a snapshot of one worker starts at the other, and a fork makes its children', async () => {
    const fleet = await startJoinedFleet(2)
    const { front, workers } = fleet
    const id = await makeWithFile(front, { network_policy: { allow: [{ host: 'example.com' }] } })
    const [first, second] = await ownerOf(fleet, id)
    const taken = await front.server.ask('POST', `${path}/${id}/snapshot`, { json: { kind: 'memory' } })
    expect([taken.status, taken.text]).toEqual([201, expect.any(String)])
    const forked = await front.server.ask('POST', `${path}/${id}/fork`, { json: { count: 2 } })
    expect([forked.status, forked.json.data?.map(({ error }: { error: unknown }) => error)]).toEqual([
      201,
      [null, null],
    ])
    await wish(fleet, first, 'cordon', 'cordoned')
    const copy = await makeWithFile(front, { snapshot: taken.json.snapshot_id })
    expect((await rowOf(fleet, copy)).host_id).toBe(second.hostId)
    await expectFile(front, copy)
    expect((await front.server.ask('DELETE', `/v1/agents/snapshot/${taken.json.snapshot_id}`)).status).toBe(204)
    expect(failures([front, ...workers])).toEqual([])
  })

  test('a worker that is drained gives its runtimes to the other', async () => {
    const fleet = await startJoinedFleet(2)
    const { front, workers } = fleet
    const id = await makeWithFile(front, { network_policy: { allow: [{ host: 'example.com' }] } })
    const [first, second] = await ownerOf(fleet, id)
    await wish(fleet, first, 'drain', 'cordoned')
    await vi.waitUntil(async () => (await rowOf(fleet, id)).host_id === second.hostId, patience)
    await vi.waitUntil(async () => (await rowOf(fleet, id)).state === 'running', patience)
    await expectFile(front, id)
    expect(failures([front, ...workers])).toEqual([])
  })

  test('children for which a worker has no room are made at the other, which cannot take the parent later', async () => {
    const free: (number | null)[] = [null, null]
    const fleet = await startJoinedFleet(2, (at) => ({ freeMemoryMiB: async () => free[at] ?? null }))
    const { front, workers, store } = fleet
    const secret = { name: 'token', value: 'of the parent', hosts: ['api.example.com'] }
    expect((await front.server.ask('POST', '/v1/agents/secret', { json: secret })).status).toBe(201)
    const policy = { network_policy: { allow: [{ host: 'api.example.com' }] } }
    const id = await makeWithFile(front, { ...policy, secrets: ['token'] })
    const [owner, other] = await ownerOf(fleet, id)
    free[workers.indexOf(owner)] = 1
    const forked = await front.server.ask('POST', `${path}/${id}/fork`, { json: { count: 2 } })
    expect(forked.status).toBe(201)
    for (const { runtime, error } of forked.json.data) {
      expect(error).toBeNull()
      const { runtime_id: child } = runtime
      expect((await rowOf(fleet, child)).host_id).toBe(other.hostId)
      expect(await inside(front.server).read(child, '/workspace/a')).toBe(`content of ${id}`)
      expect(await other.gateway.of(child)?.options.secrets?.[0]?.value()).toMatchObject({ value: 'of the parent' })
    }
    const offered = await store.db.selectFrom('worker_offers').select(['runtime_id', 'host_id']).execute()
    expect(offered.filter(({ host_id }) => host_id === other.hostId)).toEqual([])
    expect(failures([front, ...workers])).toEqual([])
  })

  test('a front passes no question of a worker on about a runtime that is not its own', async () => {
    const fleet = await startJoinedFleet(2)
    const { front, store } = fleet
    const id = await makeWithFile(front)
    const [owner, other] = await ownerOf(fleet, id)
    const { project_id: projectId } = await rowOf(fleet, id)
    const asOther = await strangerAs(fleet, other)
    const relay = (path: string, question: object) =>
      asOther(front, '/peer/relay', { hostId: other.hostId, path, question })
    const child = { projectId, parentId: id, id: 'rt1', checkpointId: 'cp1', checkpointBytes: 1, request: {} }
    await expect(relay('/peer/child', child)).rejects.toMatchObject({ code: 'forbidden' })
    await expect(relay('/peer/take', { projectId, runtimeId: id })).rejects.toMatchObject({ code: 'forbidden' })
    const elsewhere = { projectId: makeId('project'), key: 'key' }
    await expect(relay('/peer/running', elsewhere)).rejects.toMatchObject({ code: 'forbidden' })
    await expect(relay('/peer/release', { projectId, runtimeId: id })).rejects.toThrow()
    await pauseAt(front, id)
    await belongsToNone(fleet, id)
    await expect(relay('/peer/take', { projectId, runtimeId: id })).rejects.toMatchObject({ code: 'forbidden' })
    expect(await store.db.selectFrom('worker_offers').selectAll().execute()).toEqual([])
    // A direct question of a worker to another one is refused.
    await expect(asOther(owner, '/peer/take', { projectId, runtimeId: id })).rejects.toThrow()
    expect((await rowOf(fleet, id)).host_id).toBeNull()
  })

  test('a worker claims no paused runtime that no front has sent it', async () => {
    const fleet = await startJoinedFleet(2)
    const { front } = fleet
    const id = await makeWithFile(front)
    const [, other] = await ownerOf(fleet, id)
    await pauseAt(front, id)
    await belongsToNone(fleet, id)
    const { databaseUrl } = JSON.parse(await readFile(join(other.server.stateDir, 'worker.json'), 'utf8')).joined
    const claim = `UPDATE runtimes SET host_id = '${other.hostId}', host_epoch = 1 WHERE runtime_id = '${id}' RETURNING 1`
    expect(await ask(databaseUrl, claim)).toEqual([])
    expect((await rowOf(fleet, id)).host_id).toBeNull()
  })

  test('a build runs on a worker, and both workers start its template', async () => {
    const fleet = await startJoinedFleet(2, () => ({ builder: new FakeBuilder() }))
    const { front, workers } = fleet
    const json = { name: 'built', dockerfile: 'FROM scratch' }
    const made = await front.server.ask('POST', '/v1/agents/template/build', { json })
    expect([made.status, made.text]).toEqual([202, expect.any(String)])
    expect(await ended(front.server, made.json.build_id)).toMatchObject({ status: 'ready', reason: null })
    for (const worker of workers) {
      await wish(fleet, worker, 'cordon', 'cordoned')
      const id = await makeWithFile(front, { template: 'built' })
      expect((await rowOf(fleet, id)).host_id).not.toBe(worker.hostId)
      await wish(fleet, worker, 'uncordon', 'ready')
    }
    expect(failures([front, ...workers])).toEqual([])
  })

  test('a client with a valid key gets nothing at the port of a worker', async () => {
    const fleet = await startJoinedFleet(1)
    const { front } = fleet
    const [worker] = fleet.workers as [TestHost]
    const id = await makeWithFile(front)
    const { url } = worker.server.server
    const visit = (at: string, init: RequestInit = {}) =>
      fetch(`${url}${at}`, { ...init, headers: { authorization: `Bearer ${front.server.server.adminKey}` } })
    const paths = [
      '/v1/agents/runtime',
      `${path}/${id}`,
      '/v1/agents/key',
      '/mcp',
      '/console',
      '/docs',
      '/openapi.json',
    ]
    for (const at of [...paths, '/nothing', `${path}/${id}/ports/3000/proxy/`]) {
      const answer = await visit(at)
      const { error } = (await answer.json()) as { error: { code: string; details: object } }
      expect([at, answer.status, error.code, error.details]).toEqual([at, 503, 'unavailable', { reason: 'worker' }])
    }
    expect((await visit(`${path}/${id}`, { method: 'DELETE' })).status).toBe(503)
    expect(
      await firstLine(
        url,
        `GET ${path}/${id}/attach HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`,
      ),
    ).toContain('503')
    for (const at of ['/healthz', '/readyz', '/metrics'])
      expect([at, (await fetch(`${url}${at}`)).status]).toEqual([at, 200])
    await expectFile(front, id)
    expect(worker.server.server.adminKey).toBe('')
  })

  test('the disk of a worker has no key of the fleet, and no value of a secret', async () => {
    const fleet = await startJoinedFleet(1)
    const { front } = fleet
    const [worker] = fleet.workers as [TestHost]
    const value = 'a value that no worker keeps'
    const secret = { name: 'token', value, hosts: ['api.example.com'] }
    expect((await front.server.ask('POST', '/v1/agents/secret', { json: secret })).status).toBe(201)
    const id = await makeWithFile(front, {
      network_policy: { allow: [{ host: 'api.example.com' }] },
      secrets: ['token'],
    })
    const [attached] = worker.gateway.of(id)?.options.secrets ?? []
    expect(await attached?.value()).toMatchObject({ value })
    await pauseAt(front, id)
    const files = await readdir(worker.server.stateDir, { recursive: true, withFileTypes: true })
    const names = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name))
    expect(names.filter((name) => /master-keys|port-secret|credentials/.test(name))).toEqual([])
    const told = [
      JSON.stringify(worker.server.logged),
      ...(await Promise.all(names.map((name) => readFile(name, 'latin1')))),
    ]
    for (const hidden of [value, front.server.server.adminKey])
      expect(told.filter((text) => text.includes(hidden))).toEqual([])
  })
})

/** Sends bytes to a server, and returns the first line of its answer. */
async function firstLine(url: string, bytes: string): Promise<string> {
  const { hostname: host, port } = new URL(url)
  const socket = connect({ host, port: Number(port) })
  socket.write(bytes)
  let text = ''
  for await (const piece of socket) {
    text += String(piece)
    if (text.includes('\r\n')) break
  }
  return text.split('\r\n', 1)[0] ?? ''
}
