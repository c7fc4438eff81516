import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { connect as connectTls, type createSecureContext, type TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import { makeRuntimeCa } from '../../src/ca/runtime-ca.ts'
import type { AttachedSecret, RuntimeCa } from '../../src/contract/gateway-contract.ts'
import type { ConnectionToTerminate, ObservedRequest, RequestVerdict } from '../../src/contract/terminator.ts'
import { makeTerminator } from '../../src/terminate/make-terminator.ts'
import { LeafCertificates } from '../../src/terminate/tls/leaf-certificates.ts'

/** The name that every test host has. */
export const hostName = 'api.example.com'

/** The path of a runtime's connection: a terminator, and behind it an upstream of the test. */
export interface Passage {
  /** The runtime's authority. */
  readonly ca: RuntimeCa
  readonly decisions: ObservedRequest[]
  secrets: AttachedSecret[]
  verdict: (method: string, path: string) => RequestVerdict
  /** How many TCP connections were made to the upstream. */
  readonly dialled: { count: number }
  /** Connects as a program inside does. */
  enter(options?: { protocols?: string[]; name?: string }): Promise<TLSSocket>
  /** A session of HTTP/2 as a program inside has it. */
  enterHttp2(): Promise<ReturnType<typeof connectHttp2>>
  /** Cuts every connection, as a new policy would. */
  cut(): void
}

/** A TLS context for an upstream whose certificate the operator's authority has signed. */
export async function upstreamContext(
  name = hostName,
): Promise<{ ca: RuntimeCa; context: ReturnType<typeof createSecureContext> }> {
  const ca = await makeRuntimeCa('Test authority')
  return { ca, context: await new LeafCertificates().get(ca, name) }
}

/** Makes the way through a terminator to an upstream that listens on loopback. */
export async function makePassage(upstream: { port: number; caPem: string | null }): Promise<Passage> {
  const ca = await makeRuntimeCa('Runtime authority')
  const terminator = makeTerminator(upstream.caPem)
  const cut = new Set<AbortController>()
  const passage: Passage = {
    ca,
    decisions: [],
    secrets: [],
    verdict: () => ({ allowed: true, rule: 'a rule' }),
    dialled: { count: 0 },
    enter: (options) => enter(server, passage, options),
    enterHttp2: async () => {
      const { promise, resolve } = Promise.withResolvers<ReturnType<typeof connectHttp2>>()
      // In the moment of the handshake: the bytes that come next must find their reader.
      const use = (socket: TLSSocket) => {
        const session = connectHttp2(`https://${hostName}`, { createConnection: () => socket })
        session.on('error', () => {})
        onTestFinished(() => session.destroy())
        resolve(session)
      }
      await enter(server, passage, { protocols: ['h2'], use })
      return promise
    },
    cut: () => {
      for (const controller of cut) controller.abort(new Error('cut'))
    },
  }
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const controller = new AbortController()
    cut.add(controller)
    client.on('error', () => client.destroy())
    // The offer travels beside the connection, as the ClientHello was read before.
    client.once('data', (first: Buffer) => {
      const [offered = ''] = first.toString().split('\n', 1)
      client.pause()
      client.unshift(first.subarray(offered.length + 1))
      const connection: ConnectionToTerminate = {
        client,
        name: hostName,
        port: 443,
        offeredProtocols: offered === '' ? [] : offered.split(','),
        ca,
        secrets: () => passage.secrets,
        dialUpstream: async () => {
          passage.dialled.count += 1
          const socket = connect(upstream.port, '127.0.0.1')
          socket.on('error', () => {})
          await once(socket, 'connect')
          return socket
        },
        pace: async () => undefined,
        decide: (method, path) => passage.verdict(method, path),
        onDecision: (decision) => passage.decisions.push(decision),
        signal: controller.signal,
      }
      terminator.serve(connection).catch(() => client.destroy())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    passage.cut()
    server.close()
  })
  return passage
}

/** How a program inside connects. */
interface Entering {
  readonly protocols?: string[]
  readonly name?: string
  readonly use?: (socket: TLSSocket) => void
}

async function enter(
  server: Server,
  { ca }: Passage,
  { protocols = ['http/1.1'], name = hostName, use }: Entering = {},
): Promise<TLSSocket> {
  const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`${protocols.join(',')}\n`)
  const secured = connectTls({
    socket,
    servername: name,
    ca: ca.certificatePem,
    ...(protocols.length === 0 ? {} : { ALPNProtocols: protocols }),
  })
  secured.on('error', () => {})
  onTestFinished(() => {
    secured.destroy()
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  secured
    .once('secureConnect', () => {
      use?.(secured)
      resolve()
    })
    .once('close', () => reject(new Error('closed')))
    .once('error', reject)
  await promise
  return secured
}

/** A secret for the test host. */
export function secretOf(over: Partial<AttachedSecret> & { current?: string | null } = {}): AttachedSecret {
  const { current = 'sk-the-real-value-0123456789', ...rest } = over
  return {
    name: 'key',
    hosts: [hostName],
    header: 'authorization',
    format: 'Bearer {value}',
    placeholder: 'holt-placeholder-abcdef',
    value: async () => (current === null ? null : { value: current, version: 1 }),
    ...rest,
  }
}

/** Sends bytes and reads until the other side ends, or until `enough` of what came. */
export async function exchange(socket: TLSSocket, request: string, enough: (text: string) => boolean): Promise<string> {
  let text = ''
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.setEncoding('latin1')
  socket.on('data', (part: string) => {
    text += part
    if (enough(text)) resolve()
  })
  socket.once('close', () => resolve())
  socket.once('end', () => resolve())
  socket.write(request)
  await promise
  return text
}
