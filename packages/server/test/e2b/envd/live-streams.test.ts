import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { connectionLimits } from '../../../src/foundation/config/connection-limits.ts'
import { type E2bServer, startE2bServer } from '../../support/e2b-server.ts'

interface Made {
  readonly sandboxID: string
  readonly envdAccessToken: string
}

const make = async ({ e2b }: E2bServer): Promise<Made> =>
  (await e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' } })).json

/** A stream of a client over a connection of its own, without an API key. */
interface LiveStream {
  readonly bytes: () => Buffer
  readonly isOpen: () => boolean
}

/** Opens a stream of Connect and waits for its first message. */
function open(
  { server }: E2bServer,
  { sandboxID, envdAccessToken }: Made,
  { path, message }: { readonly path: string; readonly message: object },
): Promise<LiveStream> {
  const json = Buffer.from(JSON.stringify(message))
  const head = Buffer.alloc(5)
  head.writeUInt32BE(json.length, 1)
  const headers = {
    'content-type': 'application/connect+json',
    'connect-protocol-version': '1',
    'e2b-sandbox-id': sandboxID,
    'e2b-sandbox-port': '49983',
    'x-access-token': envdAccessToken,
  }
  return new Promise((resolve, reject) => {
    const received: Buffer[] = []
    let isOpen = true
    const close = () => {
      isOpen = false
    }
    const outgoing = request(new URL(path, server.url), { method: 'POST', headers, agent: false })
    outgoing.once('error', (error) => {
      close()
      reject(error) // No effect after the first message: a cut is what the test waits for.
    })
    outgoing.once('response', (answer: IncomingMessage) => {
      answer.on('error', close)
      answer.once('close', close)
      answer.on('data', (bytes: Buffer) => {
        received.push(bytes)
        resolve({ bytes: () => Buffer.concat(received), isOpen: () => isOpen })
      })
    })
    onTestFinished(() => void outgoing.destroy())
    outgoing.end(Buffer.concat([head, json]))
  })
}

const cat = { path: '/process.Process/Start', message: { process: { cmd: 'cat' }, stdin: true } }
const watch = { path: '/filesystem.Filesystem/WatchDir', message: { path: '/tmp' } }

/** Returns the flags of the complete messages. 2 is the end of a stream. */
function flagsOf(bytes: Buffer): number[] {
  const flags: number[] = []
  for (let at = 0; at + 5 <= bytes.length; at += 5 + bytes.readUInt32BE(at + 1)) flags.push(bytes[at] ?? 0)
  return flags
}

test.each<[string, (server: E2bServer, made: Made) => Promise<number>]>([
  ['pause', async ({ e2b }, { sandboxID: id }) => (await e2b('POST', `/sandboxes/${id}/pause`)).status],
  [
    'pause of the files',
    async ({ e2b }, { sandboxID: id }) =>
      (await e2b('POST', `/sandboxes/${id}/pause`, { json: { memory: false } })).status,
  ],
  ['kill', async ({ e2b }, { sandboxID: id }) => (await e2b('DELETE', `/sandboxes/${id}`)).status],
])('a %s cuts the live streams of its sandbox, and no others', async (_, end) => {
  const server = await startE2bServer()
  const [made, other] = [await make(server), await make(server)]
  const streams = [await open(server, made, cat), await open(server, made, watch)]
  const spared = await open(server, other, cat)
  expect(await end(server, made)).toBe(204)
  await expect.poll(() => streams.map((stream) => stream.isOpen())).toEqual([false, false])
  // A reset without the end of the stream is how clients know that the sandbox is gone.
  for (const stream of streams) expect(flagsOf(stream.bytes())).not.toContain(2)
  expect(spared.isOpen()).toBe(true)
  const headers = { 'e2b-sandbox-id': made.sandboxID, 'e2b-sandbox-port': '49983' }
  const health = await server.e2b('GET', '/health', { headers, key: null })
  expect([health.status, health.json.message]).toEqual([502, 'The sandbox was not found'])
})

test('200 streams of one address live on with a token alone, and those of strangers make room', {
  timeout: 120_000,
}, async () => {
  const server = await startE2bServer({}, { limits: { ...connectionLimits, maxStrangers: 20 } })
  const made = await make(server)
  const streams: LiveStream[] = []
  for (let round = 0; round < 10; round += 1)
    streams.push(...(await Promise.all(Array.from({ length: 20 }, () => open(server, made, cat)))))
  const { hostname, port } = new URL(server.server.url)
  let dropped = 0
  const strangers = Array.from({ length: 60 }, (_, index) => {
    const socket = connect(Number(port), hostname).resume()
    socket.on('error', () => {})
    socket.once('close', () => {
      dropped += 1
    })
    // A wrong token is none.
    if (index % 2 === 0)
      socket.write(
        `POST /process.Process/List HTTP/1.1\r\nHost: ${hostname}\r\nE2b-Sandbox-Id: ${made.sandboxID}\r\nE2b-Sandbox-Port: 49983\r\n` +
          'X-Access-Token: wrong\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
      )
    return socket
  })
  onTestFinished(() => {
    for (const socket of strangers) socket.destroy()
  })
  await expect.poll(() => dropped, { timeout: 20_000 }).toBeGreaterThanOrEqual(40)
  expect(streams.filter((stream) => !stream.isOpen())).toEqual([])
  const list = { 'e2b-sandbox-id': made.sandboxID, 'e2b-sandbox-port': '49983', 'x-access-token': made.envdAccessToken }
  const running = await server.e2b('POST', '/process.Process/List', { headers: list, json: {}, key: null })
  expect(running.json.processes).toHaveLength(200)
})
