import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { type AuditEntry, makeId } from '@holt/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { inside } from '../../support/inside.ts'
import { startStubOwner, startTestFleet, type TestFleet } from '../../support/test-fleet.ts'
import { onPostgres } from '../../support/test-store.ts'

/** A fleet whose entry believes that a stub owns the runtime. */
async function startWithStub(listener: RequestListener, more: Parameters<typeof startTestFleet>[0] = {}) {
  const fleet = await startTestFleet(more)
  const stub = await startStubOwner(fleet, listener)
  fleet.entry.owners.set(fleet.runtimeId, stub.hostId)
  return { ...fleet, stub }
}

/** Sends a request over a plain connection, which the test reads or leaves unread. */
function rawRequest({ entry, path }: TestFleet, lines: readonly string[]) {
  const { hostname, port } = new URL(entry.server.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  const [first = '', ...others] = lines
  const head = [`${first.replace('PATH', path)} HTTP/1.1`, 'Host: localhost']
  socket.write(`${[...head, `Authorization: Bearer ${entry.server.adminKey}`, ...others].join('\r\n')}\r\n\r\n`)
  return socket
}

// Each host has a copy of one SQLite file.
describe.skipIf(onPostgres)('requests that another host answers', () => {
  test('a command, a file and a pause act at the owner', async () => {
    const { entry, owner, runtimeId, path } = await startTestFleet()
    const { json, status } = await entry.ask('POST', `${path}/commands`, { json: { argv: ['echo', 'far'] } })
    expect([status, json.stdout]).toEqual([200, 'far\n'])
    await inside(entry).write(runtimeId, '/workspace/a', 'content')
    expect(await inside(owner).read(runtimeId, '/workspace/a')).toBe('content')
    expect(await inside(entry).read(runtimeId, '/workspace/a')).toBe('content')
    expect((await entry.ask('POST', `${path}/pause`)).json.state).toBe('paused')
    expect((await owner.ask('GET', path)).json.state).toBe('paused')
    const refused = await entry.ask('POST', `${path}/commands`, { json: { argv: [] } })
    expect([refused.status, refused.json.error.code]).toEqual([400, 'invalid_request'])
    expect((await entry.ask('DELETE', path)).status).toBe(204)
    expect((await owner.ask('GET', path)).json.state).toBe('terminated')
    expect([...entry.logged, ...owner.logged].filter(({ level }) => level === 'error')).toEqual([])
  })

  test('an answer has the request id and the rate limit of the entry', async () => {
    const { entry, path } = await startTestFleet()
    const { headers } = await entry.ask('GET', `${path}/commands`, { headers: { 'x-request-id': 'my-id.1' } })
    expect(headers.get('x-request-id')).toBe('my-id.1')
    const own = (await entry.ask('GET', '/v1/agents/whoami')).headers
    expect(headers.get('ratelimit-limit')).toBe(own.get('ratelimit-limit'))
  })

  test('a call is in the audit log of the owner once, with the client and its key', async () => {
    const { entry, owner, path } = await startTestFleet()
    const { key, key_id } = await entry.makeKey('runtime:read')
    await entry.ask('POST', `${path}/commands`, { json: { argv: ['true'] }, headers: { 'x-request-id': 'run-1' } })
    await entry.ask('POST', `${path}/commands`, { key, json: { argv: ['true'] } })
    const entriesOf = async (host: typeof entry) => {
      const { data } = (await host.ask('GET', '/v1/agents/audit')).json
      return (data as AuditEntry[]).filter(({ route }) => route === 'startCommand')
    }
    await expect
      .poll(() => entriesOf(owner))
      .toMatchObject([{ request_id: 'run-1', status: 200, address: '127.0.0.1', count: 1 }])
    // The entry has refused the other key, and has written that down.
    await expect.poll(() => entriesOf(entry)).toMatchObject([{ status: 403, key: { key_id } }])
  })

  test('the key, cookies and fleet headers of a client stay at the entry', async () => {
    const fleet = await startWithStub((_, response) => response.end('{}'))
    const { entry, path, stub } = fleet
    await entry
      .ask('GET', `${path}/commands`, {
        headers: {
          cookie: 'holt_console_x=1',
          'x-api-key': 'e2b_secret',
          'holt-caller': 'forged',
          'holt-hops': '7',
          'x-kept': 'yes',
          traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
        },
      })
      .catch(() => {})
    const [{ wire, headers, url } = {}] = stub.received
    expect(url).toBe(`${path}/commands`)
    expect(headers).toMatchObject({ 'x-kept': 'yes', traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` })
    for (const name of ['authorization', 'cookie', 'x-api-key', 'holt-caller', 'holt-hops'])
      expect(headers, name).not.toHaveProperty(name)
    expect(wire).toMatchObject({ 'holt-hops': '1', 'holt-protocol': '2' })
    const secrets = JSON.stringify([wire, headers]) + Buffer.from(String(wire?.['holt-caller']), 'base64url')
    expect(secrets).not.toContain(entry.server.adminKey)
    expect(secrets).not.toContain('e2b_secret')
  })

  test('rows, unknown runtimes and runtimes of others are answered by the entry', async () => {
    const { entry, path, runtimeId, stub } = await startWithStub((_, response) => response.end())
    expect((await entry.ask('GET', path)).json.runtime_id).toBe(runtimeId)
    expect((await entry.ask('GET', '/v1/agents/runtime')).status).toBe(200)
    for (const id of [makeId('runtime'), 'no-id', '%00'])
      expect((await entry.ask('GET', `/v1/agents/runtime/${id}/commands`)).status, id).toBe(404)
    expect((await entry.ask('GET', `${path}/commands`, { key: 'holt_wrong' })).status).toBe(401)
    expect((await entry.ask('GET', `${path}/commands`, { key: null })).status).toBe(401)
    expect(stub.received).toEqual([])
  })

  test('forged headers of the fleet have no effect at the public listener', async () => {
    const { owner, path, runtimeId } = await startTestFleet()
    const facts = { address: null, isSecure: false, visit: null, caller: { keyId: 'ky1', keyVersion: 1 } }
    const headers = {
      'holt-protocol': '1',
      'holt-hops': '1',
      'holt-deadline-ms': '1000',
      'holt-owned': `runtime pr1 ${runtimeId}`,
      'holt-caller': Buffer.from(JSON.stringify(facts)).toString('base64url'),
    }
    expect((await owner.ask('GET', `${path}/commands`, { key: null, headers })).status).toBe(401)
    expect((await owner.ask('GET', `${path}/commands`, { headers })).status).toBe(200)
  })

  test('an owner checks the key again after a body', async () => {
    const { entry, owner, path } = await startTestFleet()
    const { key, key_id } = await owner.makeKey('runtime:write')
    // The entry does not know keys that the owner has made, and the other way round.
    expect((await entry.ask('GET', `${path}/commands`, { key })).status).toBe(401)
    const far = await entry.makeKey('runtime:write')
    const { status, json } = await entry.ask('POST', `${path}/commands`, { key: far.key, json: { argv: ['true'] } })
    expect([status, json.error.code]).toEqual([401, 'unauthenticated'])
    expect(key_id).not.toBe(far.key_id)
  })

  test('a stream arrives in pieces, and ends at the owner when its client leaves', async () => {
    let answer: ServerResponse | null = null
    const fleet = await startWithStub((_, response) => {
      answer = response
      response.writeHead(200, { 'content-type': 'application/x-ndjson' }).write('{"first":1}\n')
    })
    const socket = rawRequest(fleet, ['GET PATH/commands/cm1/output'])
    let text = ''
    socket.on('data', (bytes) => {
      text += bytes
    })
    await expect.poll(() => text).toContain('{"first":1}')
    ;(answer as unknown as ServerResponse).write('{"second":2}\n')
    await expect.poll(() => text).toContain('{"second":2}')
    const gone = once(answer as unknown as ServerResponse, 'close')
    socket.destroy()
    await gone
  })

  test('an answer that breaks off between the hosts breaks off at the client', async () => {
    const fleet = await startWithStub((_, response) => {
      response.writeHead(200).write('half')
      setTimeout(() => response.destroy(), 50)
    })
    await expect(fleet.entry.ask('GET', `${fleet.path}/files/content?path=/a`)).rejects.toThrow()
  })

  test('a client that leaves during an upload ends the request at the owner', async () => {
    const aborted: boolean[] = []
    const fleet = await startWithStub(
      (incoming) => void incoming.resume().once('close', () => aborted.push(!incoming.complete)),
    )
    const socket = rawRequest(fleet, ['PUT PATH/files/content?path=/a', 'Content-Length: 1000000'])
    socket.write('some')
    await expect.poll(() => fleet.stub.received.length).toBe(1)
    socket.destroy()
    await expect.poll(() => aborted).toEqual([true])
  })

  test('an owner that reads nothing stops the upload, and the entry keeps little of it', async () => {
    const fleet = await startWithStub(() => {})
    const socket = rawRequest(fleet, ['PUT PATH/files/content?path=/a', 'Transfer-Encoding: chunked'])
    const piece = Buffer.alloc(64 * 1024)
    let sentBytes = 0
    const before = process.memoryUsage().rss
    for (let stalled = false; !stalled && sentBytes < 256 * 2 ** 20; ) {
      socket.write(`${piece.length.toString(16)}\r\n`)
      socket.write(piece)
      const isTaken =
        socket.write('\r\n') || (await Promise.race([once(socket, 'drain').then(() => true), later(1500)]))
      stalled = !isTaken
      sentBytes += piece.length
    }
    // The kernel's buffers on loopback, and a window of a MiB.
    expect(sentBytes).toBeLessThan(24 * 2 ** 20)
    expect(process.memoryUsage().rss - before).toBeLessThan(96 * 2 ** 20)
  })

  test('a client that reads nothing stops the download, and both hosts keep little of it', async () => {
    let writtenBytes = 0
    const fleet = await startWithStub((_, response) => {
      response.writeHead(200)
      const piece = Buffer.alloc(64 * 1024)
      const fill = () => {
        while (writtenBytes < 256 * 2 ** 20) {
          writtenBytes += piece.length
          if (!response.write(piece)) return void response.once('drain', fill)
        }
      }
      fill()
    })
    const before = process.memoryUsage().rss
    const socket = rawRequest(fleet, ['GET PATH/files/content?path=/a'])
    socket.pause()
    let last = -1
    await expect
      .poll(
        async () => {
          const isStill = writtenBytes > 0 && writtenBytes === last
          last = writtenBytes
          return isStill
        },
        { interval: 500, timeout: 20_000 },
      )
      .toBe(true)
    expect(writtenBytes).toBeLessThan(24 * 2 ** 20)
    expect(process.memoryUsage().rss - before).toBeLessThan(96 * 2 ** 20)
    // Another download passes meanwhile.
    const other = rawRequest(fleet, ['GET PATH/files/content?path=/b'])
    expect((await once(other, 'data'))[0].length).toBeGreaterThan(0)
  })

  test('a long upload arrives whole', async () => {
    const { entry, owner, runtimeId, path } = await startTestFleet()
    const body = randomBytes(24 * 2 ** 20)
    const { status } = await entry.ask('PUT', `${path}/files/content?path=/workspace/big`, { body })
    expect(status).toBe(201)
    const { json } = await owner.ask('GET', `${path}/files/stat?path=/workspace/big`)
    expect(json.size_bytes).toBe(body.length)
    const { hostname, port } = new URL(entry.server.url)
    const answer = await fetch(`http://${hostname}:${port}${path}/files/content?path=/workspace/big`, {
      headers: { authorization: `Bearer ${entry.server.adminKey}` },
    })
    expect(Buffer.from(await answer.arrayBuffer()).equals(body)).toBe(true)
    expect(runtimeId).not.toBe('')
  })

  test('a request with an Idempotency-Key is answered once, whichever host received it', async () => {
    const { entry, owner, path } = await startTestFleet()
    const ask = (host: typeof entry) =>
      host.ask('POST', `${path}/commands`, {
        json: { argv: ['echo', 'once'], background: true },
        headers: { 'idempotency-key': 'a-key' },
      })
    const first = await ask(entry)
    const second = await ask(owner)
    const third = await ask(entry)
    expect([second.headers.get('idempotent-replayed'), third.headers.get('idempotent-replayed')]).toEqual([
      'true',
      'true',
    ])
    expect(new Set([first, second, third].map(({ json }) => json.command_id)).size).toBe(1)
  })

  test('a forward is counted, and both hosts log the same request id', async () => {
    const { entry, path } = await startTestFleet()
    await entry.ask('GET', `${path}/commands`)
    const { text } = await entry.ask('GET', '/metrics')
    expect(text).toContain('holt_fleet_forwards_total{outcome="answered"} 1')
    expect(text).toContain('holt_fleet_forward_duration_seconds_count 1')
  })
})

function later(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(resolve, ms, false as const))
}
