import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { expect, onTestFinished, vi } from 'vitest'
import type { ServerOptions } from '../../src/index.ts'
import type { DialWebhook } from '../../src/tenancy/webhooks/post-message.ts'
import { RecordingGateway } from './recording-gateway.ts'
import { startTestServer } from './start-test-server.ts'

/** A message as it came. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly json: any
}

/** A receiver of webhooks on loopback. */
export interface WebhookReceiver {
  readonly received: Received[]
  connections: number
  /** How it answers; default 204. */
  answer: (message: Received, response: ServerResponse) => void
  /** Leads every host to this receiver, without TLS. */
  readonly dialWebhook: DialWebhook
}

/** Starts a receiver that ends with the test. */
export async function receiveWebhooks(): Promise<WebhookReceiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const message = { path: request.url ?? '', headers: request.headers, text, json: JSON.parse(text) }
      receiver.received.push(message)
      receiver.answer(message, response)
    })
  })
  server.on('connection', () => {
    receiver.connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const receiver: WebhookReceiver = {
    received: [],
    connections: 0,
    answer: (_, response) => response.writeHead(204).end(),
    dialWebhook: async () => {
      const socket = connect({ host: '127.0.0.1', port })
      await new Promise<void>((resolve, reject) => {
        socket.once('connect', resolve).once('error', reject)
      })
      return socket
    },
  }
  return receiver
}

const nowhere = () => Promise.reject(new Error('nothing is outside'))

/** The way to external hosts where all webhooks go to one receiver. */
export function onlyTo({ dialWebhook }: WebhookReceiver) {
  return { gateway: new RecordingGateway(), dialTls: nowhere, dialWebhook, registryNetwork: { connect: nowhere } }
}

/** A server whose webhooks all go to one receiver, and one webhook. */
export async function startWebhookServer(options: Partial<ServerOptions> = {}, webhook: object = {}) {
  const receiver = await receiveWebhooks()
  const server = await startTestServer({ outside: onlyTo(receiver), ...options })
  const json = { url: 'https://hooks.example.com/in', types: ['runtime.*'], ...webhook }
  const made = await server.ask('POST', '/v1/agents/webhook', { json })
  const path = `/v1/agents/webhook/${made.json.webhook_id}`
  return { server, receiver, path, made: made.json }
}

/** Waits until so many messages have come, and answers them. */
export async function messages({ received }: WebhookReceiver, count: number): Promise<readonly Received[]> {
  await vi.waitFor(() => expect(received.length).toBeGreaterThanOrEqual(count), { timeout: 10_000, interval: 10 })
  return received
}
