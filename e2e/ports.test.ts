import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { connect as tcpConnect } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Command, Port, PortState } from '@holt/protocol'
import { Holt } from '@holt/sdk'
import { beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { type Answer, call, failure, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { holt, holtProcess } from './support/cli.ts'
import { service } from './support/facts.ts'
import { fetchOnce } from './support/fetch-once.ts'
import { daemonMemory, forgetPeakMemory } from './support/host.ts'
import { open, send, type WireRequest } from './support/http.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

const probe = readFileSync(new URL('./probe/port-server.mjs', import.meta.url), 'utf8')

/** Long enough for a machine that is busy with other things. */
const endTimeoutMs = 30_000

const MIB = 2 ** 20

/**
 * The memory that the service may take to carry a body, in MiB. V8 frees the buffers of what has
 * gone through only after tens of MiB (68 were seen), so a tighter bound would measure V8. The
 * tests carry more than twice as much.
 */
const CARRY_MIB = 100

describeClasses('ports', (isolation) => {
  let runtime: TestRuntime
  let port: Port

  const getPort = async (number: number | string, query: Record<string, string | number> = {}) =>
    success(await runtime.call('GET', `/ports/${number}`, { query }), 200, Port)
  const hostOf = (number: number | string) => `${number}-${runtime.id}.localhost:${service.port}`

  /** A request to a port, with its token in a header. */
  const wire = (form: 'host' | 'path', path: string, how: Partial<WireRequest> & { port?: number | string } = {}) => {
    const { port: number = 3000, headers, ...rest } = how
    const host = form === 'host' ? { host: hostOf(number) } : {}
    const target = form === 'host' ? path : `${runtime.path}/ports/${number}/proxy${path}`
    return { method: 'GET', ...rest, target, headers: { 'x-holt-port-token': port.token, ...host, ...headers } }
  }
  const visit = async (...args: Parameters<typeof wire>): Promise<Answer> => {
    const answer = await send(service.url, wire(...args))
    return { ...answer, text: answer.bytes.toString() }
  }

  beforeAll(async () => {
    runtime = await createRuntime({ isolation })
    expect(success(await runtime.call('GET', '/ports'), 200, z.object({ data: z.array(PortState) })).data).toEqual([])
    await runtime.call('PUT', '/files/content', { query: { path: '/srv/port-server.mjs' }, body: probe })
    const waiting = getPort(3000, { wait_secs: 60 })
    for (const argv of [
      ['node', '/srv/port-server.mjs', '3000'],
      ['python', '-m', 'http.server', '8000', '--directory', '/etc'],
    ])
      success(await runtime.call('POST', '/commands', { json: { argv, background: true } }), 201, Command)
    port = await waiting
    expect(port).toMatchObject({ listening: true, public: false })
    expect((await getPort(8000, { wait_secs: 60 })).listening).toBe(true)
    expect((await getPort(3001, { wait_secs: 60 })).listening).toBe(true)
  })

  it('are listed with their servers, on any loopback address', async () => {
    const { data } = success(await runtime.call('GET', '/ports'), 200, z.object({ data: z.array(PortState) }))
    expect(data.map((one) => one.port)).toEqual([3000, 3001, 3002, 8000])
    expect((await getPort(4000)).listening).toBe(false)
  })

  for (const form of ['host', 'path'] as const) {
    it(`carries HTTP in the ${form} form, without the token`, async () => {
      const answer = await visit(form, '/a/b?c=d', {
        method: 'DELETE',
        headers: { cookie: `holt_port=${port.token}; own=1` },
      })
      const seen = JSON.parse(answer.text)
      expect(seen).toMatchObject({
        method: 'DELETE',
        url: '/a/b?c=d',
        headers: { cookie: 'own=1', 'x-forwarded-for': '127.0.0.1' },
      })
      expect(answer.text).not.toContain(port.token)
      const { token } = await getPort(8000)
      const listing = await visit(form, '/hostname', { port: 8000, headers: { 'x-holt-port-token': token } })
      expect(listing.status).toBe(200)
      expect(listing.text.trim()).toBe(await runtime.sh('cat /etc/hostname'))
    })

    it(`carries an event stream in the ${form} form as it is sent`, async () => {
      const message = await open(service.url, wire(form, '/events'))
      const events = message.setEncoding('utf8')[Symbol.asyncIterator]()
      expect((await events.next()).value).toBe('data: open\n\n')
      for (const word of ['one', 'two']) {
        expect((await visit(form, `/send?text=${word}`)).status).toBe(200)
        expect((await events.next()).value).toBe(`data: ${word}\n\n`)
      }
      message.destroy()
    })

    it(`answers 502 in the ${form} form without a server`, async () => {
      const { token } = await getPort(4000)
      const headers = { 'x-holt-port-token': token }
      failure(await visit(form, '/', { port: 4000, headers }), 'port_not_listening')
    })

    it(`accepts one form of a port in the ${form} form, and only a port`, async () => {
      for (const other of ['0', '03000', '+3000', '65536', '3000.0', '%33000', form === 'host' ? 'x' : 'control.sock'])
        failure(await visit(form, '/', { port: other }), 'invalid_request')
    })
  }

  it('carries a WebSocket in both forms', async () => {
    const url = new URL(`${runtime.path}/ports/3000/proxy/?holt_token=${port.token}`, service.url)
    const socket = new WebSocket(url.href.replace('http', 'ws'))
    await once(socket, 'open')
    for (const word of ['ping', 'pong']) {
      const [message] = await Promise.all([once(socket, 'message'), socket.send(word)])
      expect(message[0].data).toBe(word)
    }
    socket.close()
    const headers = { 'sec-websocket-key': 'eA==', 'sec-websocket-version': '13', ...wire('host', '/').headers }
    const [answer, connection] = await upgrade('/', 'websocket', headers)
    expect(answer.headers['sec-websocket-accept']).toBeDefined()
    connection.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]))
    expect((await once(connection, 'data'))[0]).toEqual(Buffer.from([0x81, 2, 0x68, 0x69]))
    connection.destroy()
  })

  it('carries a large upload in little memory', async () => {
    const part = Buffer.alloc(MIB, 'u')
    const [parts, hash] = [220, createHash('sha256')]
    for (let at = 0; at < parts; at += 1) hash.update(part)
    forgetPeakMemory()
    const before = daemonMemory().nowMiB
    const body = Readable.from(
      Array.from({ length: parts }, () => part),
      { objectMode: false },
    )
    const answer = await visit('host', '/upload', { method: 'PUT', body, timeoutMs: 55_000 })
    expect(JSON.parse(answer.text)).toEqual({ bytes: parts * MIB, sha256: hash.digest('hex') })
    expect(daemonMemory().peakMiB - before).toBeLessThan(CARRY_MIB)
  })

  it('a slow client delays nobody, and uses little memory of the service', async () => {
    forgetPeakMemory()
    const before = daemonMemory().nowMiB
    const stalled = await Promise.all(
      Array.from({ length: 24 }, () => open(service.url, wire('path', `/download?bytes=${64 * MIB}`))),
    )
    for (const message of stalled) message.pause()
    expect((await runtime.run('echo served')).stdout).toBe('served\n')
    const bytes = (await visit('path', `/download?bytes=${8 * MIB}`)).bytes
    expect(bytes.length).toBe(8 * MIB)
    expect(daemonMemory().peakMiB - before).toBeLessThan(CARRY_MIB)
    for (const message of stalled) message.destroy()
    await until(
      'the program is rid of them',
      async () => Number((await visit('path', '/connections')).text) < 5,
      endTimeoutMs,
    )
  })

  it('a rotation closes open connections and invalidates earlier tokens', async () => {
    const events = await open(service.url, wire('host', '/events'))
    const [, socket] = await upgrade('/', 'websocket', { 'sec-websocket-key': 'eA==', ...wire('host', '/').headers })
    const cut = Promise.all([events.resume(), socket.resume()].map((one) => closed(one)))
    const rotated = success(await runtime.call('POST', '/ports/3000/rotate'), 200, Port)
    await cut
    failure(await visit('host', '/'), 'unauthenticated')
    failure(await visit('path', '/'), 'unauthenticated')
    port = rotated
    expect((await visit('host', '/')).status).toBe(200)
  })

  it('is open to all when it is public, shown in the runtime, and private again', async () => {
    const ask = () => visit('host', '/', { headers: { 'x-holt-port-token': '' } })
    failure(await ask(), 'runtime_not_found')
    success(await runtime.call('PATCH', '/ports/3000', { json: { public: true } }), 200, Port)
    expect((await runtime.refresh()).ports).toEqual([{ port: 3000, public: true }])
    expect((await ask()).status).toBe(200)
    success(await runtime.call('PATCH', '/ports/3000', { json: { public: false } }), 200, Port)
    failure(await ask(), 'runtime_not_found')
    expect((await runtime.refresh()).ports).toEqual([])
  })

  it('carries raw TCP both ways, whichever side ends first', async () => {
    const client = new Holt({ url: service.url, apiKey: service.key, fetch: fetchOnce })
    const inside = await client.runtimes.get(runtime.id)
    const connection = await inside.ports.connect(3001)
    expect(await text(connection)).toBe('hello first')
    connection.end('and then I')
    const heard = async () => await text((await inside.ports.connect(3002)).end())
    await until('the program has heard the end', async () => (await heard()) === 'and then I.', endTimeoutMs)
    await expect(inside.ports.connect(4000)).rejects.toMatchObject({ code: 'port_not_listening' })
    const given = await inside.ports.fetch(3000, '/x', { headers: { authorization: 'Basic eA==' } })
    expect(await given.json()).toMatchObject({ url: '/x', headers: { authorization: 'Basic eA==' } })
  })

  it('holt port prints a link for curl, and forwards a port', async () => {
    const printed = await holt(['port', runtime.id, '3000', '--wait', '20'])
    expect(printed).toMatchObject({ code: 0, stderr: '' })
    const link = new URL(printed.stdout.toString())
    expect(link.hostname).toBe(`3000-${runtime.id}.localhost`)
    const opened = await send(service.url, {
      method: 'GET',
      target: link.pathname + link.search,
      headers: { host: link.host, accept: '*/*' },
    })
    expect(opened.status).toBe(200)
    const forwarding = holtProcess(['port', runtime.id, '--forward', '0:3000'])
    try {
      const [address] = await once(forwarding.stdout, 'data')
      const answer = await fetch(`http://${String(address).trim()}/forwarded`, { headers: { connection: 'close' } })
      expect(await answer.json()).toMatchObject({ url: '/forwarded' })
    } finally {
      forwarding.kill('SIGINT')
      await once(forwarding, 'close')
    }
  })

  it('the socket of the guest is not a port, and no port reaches the API', async () => {
    const answer = await visit('host', '/v1/agents/runtime')
    expect(JSON.parse(answer.text)).toMatchObject({ url: '/v1/agents/runtime' })
    expect((await call('GET', '/healthz', { headers: { host: `nothing.localhost:${service.port}` } })).status).toBe(404)
    const sockets = await runtime.sh(
      "cat /proc/net/tcp /proc/net/tcp6 | awk '$4 == \"0A\" {print $2}' | sed 's/.*://' | sort -u",
    )
    expect(sockets.split('\n')).toEqual(['0BB8', '0BB9', '0BBA', '1F40'])
  })
})

/** Asks the service to change the protocol of a connection. */
async function upgrade(path: string, protocol: string, headers: Record<string, string>) {
  const { hostname, port } = new URL(service.url)
  const outgoing = httpRequest({
    hostname,
    port,
    path,
    agent: false,
    headers: { ...headers, connection: 'Upgrade', upgrade: protocol },
  })
  outgoing.end()
  const [answer, socket] = (await once(outgoing, 'upgrade')) as [IncomingMessage, ReturnType<typeof tcpConnect>]
  return [answer, socket.on('error', () => socket.destroy())] as const
}

function closed(stream: Readable): Promise<void> {
  return new Promise((resolve) => stream.once('error', () => resolve()).once('close', () => resolve()))
}
