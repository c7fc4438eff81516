import { once } from 'node:events'
import { connect } from 'node:net'
import { duplexPair } from 'node:stream'
import { expect, test } from 'vitest'
import { relayRequests } from '../../src/http/relay-requests.ts'
import { until } from '../support/gateway.ts'
import { startTcpHost } from '../support/hosts.ts'

const offer = 'GET / HTTP/1.1\r\nHost: a.example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

test.each([
  ['ends', 'ended'],
  ['breaks off', 'cut_off'],
])('an incomplete answer to a WebSocket offer that %s is passed on as incomplete', async (_, end) => {
  const half = 'HTTP/1.1 200 OK\r\nX: half'
  await using server = await startTcpHost((socket) => {
    socket.write(half)
    void until(() => upstream.bytesRead === half.length, 'the half is there').then(() =>
      end === 'ended' ? socket.end() : socket.resetAndDestroy(),
    )
  })
  const upstream = connect(server.port, '127.0.0.1')
  upstream.on('error', () => undefined)
  await once(upstream, 'connect')
  const [guest, program] = duplexPair()
  let text = ''
  program.on('data', (chunk) => {
    text += chunk
  })
  program.write(offer)
  const relayed = relayRequests({
    guest,
    upstream,
    host: 'a.example.com',
    port: 80,
    pace: async () => undefined,
    decide: () => ({ allowed: true, rule: 'all' }),
    onRefused: () => undefined,
    signal: new AbortController().signal,
  })
  await until(() => text === half, 'the half is passed on')
  expect(guest.writableEnded).toBe(end === 'ended')
  program.end()
  expect(await relayed).toEqual({ end })
  upstream.destroy()
})
