// Receives webhooks, and believes only those that are signed with the webhook's secret (Standard Webhooks 1.0).
//
//   secret=$(holt webhook create https://hooks.example.com/holt --type 'runtime.*')
//   WEBHOOK_SECRET=$secret npx node examples/receive-webhooks.ts 8080     behind the TLS proxy of hooks.example.com
//
// A library does the same in most languages: https://www.standardwebhooks.com
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as textOf } from 'node:stream/consumers'

/** Older messages may have been recorded by somebody, newer ones cannot be. */
const toleranceSecs = 5 * 60

const [port = '8080'] = process.argv.slice(2)
const key = Buffer.from((process.env.WEBHOOK_SECRET ?? '').replace(/^whsec_/, ''), 'base64')
if (key.length < 24) throw new Error('set WEBHOOK_SECRET to the secret that `holt webhook create` printed')

/** Messages come at least once: their ids tell which came before. A real receiver keeps them where they survive it. */
const seen = new Set<string>()

const server = createServer(async (request, response) => {
  const body = await textOf(request)
  if (!isSigned(request, body)) {
    response.writeHead(401).end('the signature does not match\n')
    return
  }
  const id = String(request.headers['webhook-id'])
  if (!seen.has(id)) {
    const { type, timestamp, data } = JSON.parse(body)
    console.log(timestamp, type, data.subject?.id ?? '')
  }
  seen.add(id)
  // Anything slow is done after the answer: the service waits 15 seconds, and sends the next event only then.
  response.writeHead(204).end()
})
server.listen(Number(port), '127.0.0.1', () =>
  console.log('listening on', `http://127.0.0.1:${(server.address() as AddressInfo).port}`),
)

function isSigned({ headers }: IncomingMessage, body: string): boolean {
  const timestamp = Number(headers['webhook-timestamp'])
  if (!(Math.abs(Date.now() / 1000 - timestamp) < toleranceSecs)) return false
  const expected = createHmac('sha256', key).update(`${headers['webhook-id']}.${timestamp}.${body}`).digest()
  // While a secret is being replaced there are two signatures.
  return String(headers['webhook-signature'])
    .split(' ')
    .map((signature) => Buffer.from(signature.replace(/^v1,/, ''), 'base64'))
    .some((signature) => signature.length === expected.length && timingSafeEqual(signature, expected))
}
