// A Node server with only the request and the answer: no key, no routes, no store. `/durable`
// writes 4 KiB and syncs them before it answers; requests that wait together share a sync. Other
// paths return the answer that the parent has set, or an empty object.
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { PlainAnswer, PlainServerSettings } from './plain-server.ts'

/** The approximate size of a row and its index entries in the log of the store. */
const record = Buffer.alloc(4096, 'r')
const json = 'application/json'
const empty: PlainAnswer = { headers: { 'content-type': json }, body: '{}' }

const [settings] = (await once(process, 'message')) as [PlainServerSettings]
let answers = new Map(Object.entries(settings.answers))
const file = await open(settings.file, 'w', 0o600)
let waiting: ServerResponse[] = []
let isSyncing = false

const server = createServer((request, response) => {
  request.resume()
  request.once('end', () => {
    if (request.url !== '/durable') return send(response, answers.get(request.url ?? '') ?? empty)
    waiting.push(response)
    if (!isSyncing) void syncWaiting()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.((server.address() as AddressInfo).port)
process.on('message', (changed: PlainServerSettings) => {
  answers = new Map(Object.entries(changed.answers))
  process.send?.('changed')
})
process.once('disconnect', () => process.exit())

async function syncWaiting(): Promise<void> {
  isSyncing = true
  while (waiting.length > 0) {
    const served = waiting
    waiting = []
    await file.writev(served.map(() => record))
    await file.datasync()
    for (const response of served) send(response, empty)
  }
  isSyncing = false
}

function send(response: ServerResponse, { headers, body }: PlainAnswer): void {
  response.writeHead(200, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
}
