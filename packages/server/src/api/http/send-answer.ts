import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../foundation/request/caller.ts'
import type { Answer } from '../../foundation/wire/call.ts'
import { jsonHeaders } from '../../foundation/wire/json-headers.ts'
import { acceptedFormat, writeItems } from '../../foundation/wire/stream-items.ts'
import type { KeptByRequest } from '../../tenancy/limits/kept-memory.ts'
import type { Api } from '../api.ts'

interface Outgoing {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly answer: Answer
  readonly caller: Caller | null
  /** True if the client can request the same answer again. Only then a full buffer refuses it. */
  readonly isRepeatable: boolean
  /** The account of an answer until it has left. */
  readonly kept: KeptByRequest
}

/**
 * Writes a handler's answer. Throws `rate_limited` or `unavailable` if too many other answers wait
 * for their clients.
 */
export function sendAnswer(
  service: Api,
  { request, reply, answer, caller, isRepeatable, kept }: Outgoing,
): FastifyReply {
  if ('json' in answer || 'written' in answer) {
    const written = 'json' in answer ? JSON.stringify(answer.json) : answer.written
    if (caller !== null) {
      const bytes = Buffer.byteLength(written)
      if (isRepeatable) kept.takeAnswer(bytes)
      else kept.noteAnswer(bytes)
    }
    return reply
      .code(answer.status)
      .headers('json' in answer ? jsonHeaders : answer.headers)
      .send(written)
  }
  reply.code(answer.status)
  if ('items' in answer) {
    const format = acceptedFormat(request.headers.accept) ?? 'application/x-ndjson'
    reply
      .header('content-type', format === 'text/event-stream' ? `${format}; charset=utf-8` : format)
      .header('x-accel-buffering', 'no')
    return reply.send(watched(service, { reply, caller, body: writeItems(answer.items, format) }))
  }
  if ('bytes' in answer)
    return reply.headers(answer.headers).send(watched(service, { reply, caller, body: answer.bytes }))
  return reply.headers('headers' in answer ? answer.headers : {}).send()
}

/** Returns the body. It is cut when its key is revoked, and destroyed when its reader leaves. */
function watched(
  service: Api,
  { reply, caller, body }: { reply: FastifyReply; caller: Caller | null; body: Readable },
): Readable {
  body.on('error', (error) => service.log.debug({ err: error }, 'a stream was interrupted'))
  reply.raw.once('close', () => body.destroy())
  if (caller !== null)
    service.streams.add(caller, reply.raw, (reason) => {
      body.destroy(reason)
      reply.raw.destroy()
    })
  return body
}
