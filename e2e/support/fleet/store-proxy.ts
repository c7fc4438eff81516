import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StoreBehaviour } from './faulty-store.ts'

// A program that passes requests on to an S3, and behaves as its parent says. It has a process of
// its own, to listen in a network namespace of its own.

/** The rate of a slow store, in bytes a second and connection. */
const slowRate = 50_000

const [listen = '', host = '', port = ''] = process.argv.slice(2)

let behaviour: StoreBehaviour = 'works'
let count = 0

process.on('message', (next: StoreBehaviour) => {
  behaviour = next
  process.send?.('set')
})
process.on('disconnect', () => process.exit())

/** Sends an error as S3 does. */
function refuse(incoming: IncomingMessage, outgoing: ServerResponse, status: number, code: string): void {
  incoming.resume()
  outgoing.writeHead(status).end(`<Error><Code>${code}</Code><Message>refused by the proxy</Message></Error>`)
}

/** Passes bytes on at a low rate. */
function slowly(): Transform {
  return new Transform({
    transform: (piece: Buffer, _, done) => {
      sleep((piece.length / slowRate) * 1_000).then(
        () => done(null, piece),
        (error: Error) => done(error),
      )
    },
  })
}

/** Flips one bit of the first piece. */
function flipping(): Transform {
  let isFlipped = false
  return new Transform({
    transform: (piece: Buffer, _, done) => {
      if (!isFlipped && piece.length > 0) {
        const middle = piece.length >> 1
        piece[middle] = (piece[middle] ?? 0) ^ 0b100
        isFlipped = true
      }
      done(null, piece)
    },
  })
}

async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { method = '', url = '', headers } = incoming
  const onward = request({ host, port, method, path: url, headers, agent: false })
  outgoing.on('close', () => onward.destroy())
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    onward.on('response', resolve).on('error', reject)
  })
  const sent = behaviour === 'is slow' ? pipeline(incoming, slowly(), onward) : pipeline(incoming, onward)
  sent.catch(() => outgoing.destroy())
  const answer = await answered
  outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
  const isObject = method === 'GET' && !url.includes('list-type')
  if (behaviour === 'flips a bit' && isObject) await pipeline(answer, flipping(), outgoing)
  else if (behaviour === 'is slow') await pipeline(answer, slowly(), outgoing)
  else await pipeline(answer, outgoing)
}

const server = createServer((incoming, outgoing) => {
  count += 1
  if (behaviour === 'is away') return void incoming.socket.destroy()
  if (behaviour === 'answers 503 to half' && count % 2 === 0) return refuse(incoming, outgoing, 503, 'SlowDown')
  const isWrite = incoming.method === 'PUT' || incoming.method === 'POST'
  if (behaviour === 'is full' && isWrite) return refuse(incoming, outgoing, 507, 'XMinioStorageFull')
  pass(incoming, outgoing).catch(() => outgoing.destroy())
})
server.listen(Number(listen.split(':')[1]), listen.split(':')[0], () => process.send?.('listens'))
