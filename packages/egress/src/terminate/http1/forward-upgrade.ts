import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { mergePieces } from '@holt/async'
import { endToEnd, fieldsOf, withoutFields } from '../requests/fields.ts'
import type { Redaction } from '../secrets/masker.ts'
import { redactFields } from '../secrets/redact.ts'
import { Redactor } from '../secrets/redactor.ts'
import { fail, judge, open, passAnswer, refuse } from './forward-request.ts'
import { type Http1Connection, responseOn } from './http1-connection.ts'
import { FrameMasker } from './mask-frames.ts'

/** A connection that asks to become a WebSocket (RFC 6455, 4.1). */
interface Switching {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
}

/** Judges an upgrade to WebSocket like any request, and joins both sides if the upstream agrees. */
export async function forwardUpgrade(served: Http1Connection, { request, socket, head }: Switching): Promise<void> {
  const judgement = await judge(served, request)
  if (judgement.type === 'refuse') return refuse(responseOn(socket, request), judgement)
  if (socket.destroyed || served.connection.signal.aborted) return
  const outgoing = open(served, request, judgement, 'websocket')
  const release = served.upstream.holdSecrets(judgement.secrets)
  socket.once('close', () => {
    release()
    outgoing.destroy()
  })
  let response: ServerResponse | null = null
  outgoing.on('error', (error) => {
    if (response !== null || socket.destroyed) return void socket.destroy()
    response = responseOn(socket, request)
    fail(response, error)
  })
  outgoing.once('response', (answer) => {
    if (response !== null || socket.destroyed) return void answer.destroy()
    const declined = responseOn(socket, request)
    response = declined
    passAnswer(answer, { request, response: declined, redactions: judgement.redactions }).catch(() => socket.destroy())
  })
  outgoing.end()
  outgoing.once('upgrade', (answer, upstream, upstreamHead) => {
    socket.write(switchAnswer(answer, judgement.redactions))
    if (upstreamHead.length > 0) upstream.unshift(upstreamHead)
    if (head.length > 0) socket.unshift(head)
    join(socket, upstream, judgement.redactions)
  })
}

function switchAnswer(answer: IncomingMessage, redactions: readonly Redaction[]): string {
  // A 101 response has no length (RFC 9110, 8.6). A client that believed one would take the first
  // bytes of the new protocol for a body.
  const passed = withoutFields(endToEnd(fieldsOf(answer.rawHeaders)), ['content-length'])
  const fields = redactFields(passed, redactions).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${fields.join('')}\r\n`
}

function join(inside: Duplex, upstream: Duplex, redactions: readonly Redaction[]): void {
  mergePieces(upstream)
  const back =
    redactions.length === 0 ? upstream : upstream.pipe(mergePieces(new Redactor(new FrameMasker(redactions))))
  const end = () => {
    inside.destroy()
    upstream.destroy()
  }
  for (const side of [inside, upstream]) side.once('error', end).once('close', end)
  back.pipe(inside)
  inside.pipe(upstream)
}
