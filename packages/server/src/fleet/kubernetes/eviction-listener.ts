import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import { z } from 'zod'
import { drainForEviction, type EvictionParts } from './drain-for-eviction.ts'

/** The port of the webhook in a pod. The chart has it too. */
export const evictionPort = 4660

/** The maximum length of a review, in bytes. One of an eviction has some thousand. */
const reviewMax = 64 * 1024

/** The time for a request, in milliseconds. The API server waits for 5 s. */
const requestMs = 5_000

/** The connections at once. The API server needs few, and strangers get no more. */
const mostConnections = 32

const Review = z.object({
  kind: z.literal('AdmissionReview'),
  request: z.object({
    uid: z.string().max(128),
    name: z.string().max(512),
    namespace: z.string().max(512),
    dryRun: z.boolean().optional(),
  }),
})

/** The parts of the listener for evictions. */
export interface EvictionListenerOptions extends EvictionParts {
  /** The directory with `tls.crt` and `tls.key`. They are read for each connection. */
  readonly dir: string
  /** The namespace of the guards. */
  readonly namespace: string
  readonly port: number
}

/** The listener for evictions. */
export interface EvictionListener {
  readonly port: number
  close(): void
}

/**
 * Listens for the API server, which asks about each eviction of a guard before the budget refuses
 * it. Every eviction is allowed here. Rejects if the port cannot be had.
 */
export async function listenForEvictions(options: EvictionListenerOptions): Promise<EvictionListener> {
  const server = createServer(
    {
      minVersion: 'TLSv1.2',
      handshakeTimeout: requestMs,
      requestTimeout: requestMs,
      headersTimeout: requestMs,
      SNICallback: (_name, use) => void contextOf(options.dir).then((context) => use(null, context), use),
    },
    (request, response) => void answer(options, request, response),
  )
  server.maxConnections = mostConnections
  server.on('tlsClientError', (_error, socket) => void socket.destroy())
  server.listen(options.port)
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => close(server) }
}

function close(server: Server): void {
  server.close()
  server.closeAllConnections()
}

async function contextOf(dir: string): Promise<SecureContext> {
  const [cert, key] = await Promise.all(['tls.crt', 'tls.key'].map((name) => readFile(`${dir}/${name}`)))
  return createSecureContext({ cert, key, minVersion: 'TLSv1.2' })
}

async function answer(
  options: EvictionListenerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const review = Review.safeParse(await readJson(request))
    if (!review.success) return void response.writeHead(400).end()
    const { uid, name, namespace, dryRun } = review.data.request
    if (namespace === options.namespace && dryRun !== true) await drainForEviction(options, name)
    const admitted = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, allowed: true } }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(admitted))
  } catch (err) {
    options.log.warn({ err }, 'an eviction of a guard did not drain its host')
    response.writeHead(500).end()
  }
}

/** Reads the body; null: it is too long, or no JSON. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk
    if (body.length > reviewMax) return null
  }
  try {
    return JSON.parse(body)
  } catch {
    return null // A stranger's request.
  }
}
