import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { messageEnvelope } from '../../src/connect/envelopes.ts'
import { E2bError, matchEnvd, PollingWatchers, sandboxGone, serveEnvd } from '../../src/index.ts'
import { FakeInside } from './fake-inside.ts'

/** A request to the server. */
interface Ask {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
}

/** The messages of a stream, and the error of its last envelope. */
interface Streamed {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
  readonly messages: any[]
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
  readonly error: any
  readonly isComplete: boolean
}

/** A server of one sandbox. */
export interface TestEnvd {
  readonly inside: FakeInside
  /** Ends the sandbox: `open` fails from now on. */
  end(): void
  /** Opens a request and resolves with its answer, unread. */
  open(path: string, ask?: Ask): Promise<IncomingMessage>
  ask(path: string, ask?: Ask): Promise<{ status: number; headers: IncomingMessage['headers']; bytes: Buffer }>
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
  call(method: string, message: object, headers?: Record<string, string>): Promise<{ status: number; json: any }>
  stream(method: string, messages: readonly object[], headers?: Record<string, string>): Promise<Streamed>
  sendRaw(method: string, body: Buffer): Promise<Streamed>
}

/** Reads a stream to its end. */
async function readStream(answer: IncomingMessage): Promise<Streamed> {
  const bytes = await buffer(answer).catch(() => Buffer.alloc(0))
  const messages: object[] = []
  let at = 0
  while (at + 5 <= bytes.length) {
    const flags = bytes.readUInt8(at)
    const end = at + 5 + bytes.readUInt32BE(at + 1)
    const json = JSON.parse(bytes.subarray(at + 5, end).toString())
    if (flags === 2) return { status: answer.statusCode ?? 0, messages, error: json.error ?? null, isComplete: true }
    messages.push(json)
    at = end
  }
  return { status: answer.statusCode ?? 0, messages, error: null, isComplete: false }
}

/** Starts a server of one sandbox in memory. */
export async function startEnvd(programs: ConstructorParameters<typeof FakeInside>[0] = {}): Promise<TestEnvd> {
  const inside = new FakeInside(programs)
  const watchers = new PollingWatchers()
  let isOver = false
  const server = createServer((incoming, response) => {
    const [path = '', query = ''] = (incoming.url ?? '').split('?', 2)
    const match = matchEnvd(incoming.method ?? '', path)
    if (typeof match === 'string') return void response.writeHead(404).end()
    const over = new AbortController()
    response.once('close', () => over.abort(new Error('the client has left')))
    const room = { take: () => undefined, give: () => undefined }
    const limits = { maxMessageBytes: 65_536, bodyTimeoutMs: 2_000, quietMs: 2_000, keep: () => true, room }
    const open = async () => {
      if (isOver) throw sandboxGone('s1')
      return inside
    }
    const sandbox = { sandboxId: 's1', bySignature: false, limits, watchers, gone: over.signal, open }
    const entry = { enter: async () => sandbox, errorOf: () => sandboxGone('s1'), now: () => 5_000 }
    serveEnvd({ request: incoming, response, route: match.name, path, query }, entry).then(
      (answer) => {
        if (answer !== null) response.writeHead(answer.status).end(JSON.stringify(answer.json))
      },
      (error) => {
        if (response.headersSent) return void response.destroy()
        response.writeHead(error instanceof E2bError ? error.status : 599).end(JSON.stringify(error.body))
      },
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  onTestFinished(() => {
    watchers.close()
    server.closeAllConnections()
    server.close()
  })

  const open = (path: string, { method = 'GET', headers = {}, body }: Ask = {}) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, resolve)
      outgoing.once('error', reject).end(body)
    })
  const post = (path: string, type: string, body: Buffer, headers: Record<string, string>) =>
    open(path, { method: 'POST', headers: { 'content-type': type, ...headers }, body })
  return {
    inside,
    end: () => {
      isOver = true
    },
    open,
    ask: async (path, asked) => {
      const answer = await open(path, asked)
      return { status: answer.statusCode ?? 0, headers: answer.headers, bytes: await buffer(answer) }
    },
    call: async (method, message, headers = {}) => {
      const answer = await post(`/${method}`, 'application/json', Buffer.from(JSON.stringify(message)), headers)
      return { status: answer.statusCode ?? 0, json: JSON.parse((await buffer(answer)).toString() || 'null') }
    },
    stream: async (method, messages, headers = {}) => {
      const body = Buffer.concat(messages.map(messageEnvelope))
      return readStream(await post(`/${method}`, 'application/connect+json', body, headers))
    },
    sendRaw: async (method, body) => readStream(await post(`/${method}`, 'application/connect+json', body, {})),
  }
}
