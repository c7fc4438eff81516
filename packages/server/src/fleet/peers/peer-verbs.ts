import type { ServerHttp2Stream } from 'node:http2'
import { type ErrorCode, errorCatalogue, HoltError } from '@holt/protocol'
import { z } from 'zod'
import type { HostTrust } from '../../foundation/host/host-trust.ts'
import { PeerConnection } from './peer-connection.ts'
import type { PeerLinks } from './peer-links.ts'
import type { PeerStream } from './peer-listener.ts'

/** The protocol of a stream that carries one question of a host to another (RFC 8441, 4). */
export const verbProtocol = 'holt-verb'

/** The maximum number of bytes of a question and of its answer. */
const maxBytes = 1024 * 1024

/** The maximum number of bytes of a question of a worker. It stays in memory until it is whole. */
export const maxWorkerBytes = 256 * 1024

/** The host that asks, as its certificate names it. */
interface Asker {
  readonly hostId: string
  readonly trust: HostTrust
}

/** Answers a question of a host. Both are JSON. */
type AnswerVerb = (question: unknown, signal: AbortSignal, asker: Asker) => Promise<unknown>

/** A verb that workers may ask, too. It must check that the subject is the asker's. */
interface WorkerVerb {
  readonly mayAsk: 'every host'
  readonly answer: AnswerVerb
}

/** The verbs of a host for others, by their paths. Entries alone may ask a mere function. */
export type PeerVerbs = Readonly<Record<string, AnswerVerb | WorkerVerb>>

const codes = Object.keys(errorCatalogue) as [ErrorCode, ...ErrorCode[]]

// A newer host may add fields, and errors that this one does not know.
const Failure = z.object({
  code: z.enum(codes).catch('internal'),
  message: z.string(),
  hint: z.string(),
  details: z.record(z.string(), z.unknown()).nullable(),
})

const Told = z.object({ answer: z.unknown(), failure: Failure.nullable() })

/**
 * Asks another host, and returns its answer. Throws the error of the host, and `Unreachable` if it
 * did not accept the question.
 */
export async function askPeer(
  links: PeerLinks,
  hostId: string,
  { path, question, signal }: { readonly path: string; readonly question: unknown; readonly signal: AbortSignal },
): Promise<unknown> {
  const opened = await links.open(hostId, 'small', { headers: { ':protocol': verbProtocol, ':path': path }, signal })
  if (opened.type === 'refused') throw new HoltError('unavailable', `The other host refused with ${opened.status}.`)
  return askOver(opened.connection, question, signal)
}

/** Asks over an accepted stream, and returns the answer. Throws the error of the host. */
export async function askOver(connection: PeerConnection, question: unknown, signal: AbortSignal): Promise<unknown> {
  const leave = () => connection.destroy()
  signal.addEventListener('abort', leave)
  try {
    connection.end(JSON.stringify(question))
    const { answer, failure } = Told.parse(JSON.parse(await readAll(connection)))
    if (failure === null) return answer
    const { code, message, hint, details } = failure
    throw new HoltError(code, message, { hint, ...(details === null ? {} : { details }) })
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw error
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/**
 * Answers a stream with a question of another host. Refuses an unknown one with 404, and one that
 * the host may not ask with 403.
 */
export async function answerVerb(verbs: PeerVerbs, { hostId, trust, stream, headers }: PeerStream): Promise<void> {
  const path = headers[':path'] ?? ''
  const verb = Object.hasOwn(verbs, path) ? verbs[path] : undefined
  if (headers[':method'] !== 'CONNECT' || verb === undefined) {
    stream.respond({ ':status': 404 }, { endStream: true })
    return
  }
  if (trust !== 'entry' && typeof verb === 'function') {
    stream.respond({ ':status': 403 }, { endStream: true })
    return
  }
  const answer = typeof verb === 'function' ? verb : verb.answer
  const most = trust === 'entry' ? maxBytes : maxWorkerBytes
  await answerQuestion(stream, (question, signal) => answer(question, signal, { hostId, trust }), most)
}

/** Answers the question of a stream, which has `most` bytes at most. */
export async function answerQuestion(
  stream: ServerHttp2Stream,
  answer: (question: unknown, signal: AbortSignal) => Promise<unknown>,
  most: number,
): Promise<void> {
  stream.respond({ ':status': 200 })
  const connection = new PeerConnection(stream)
  const left = new AbortController()
  connection.once('close', () => left.abort(new Error('the other host has given up')))
  // The other host may give up before it has asked.
  const text = await readAll(connection, most).catch(() => '')
  if (text === '' || connection.destroyed) return void connection.destroy()
  const told = await answer(JSON.parse(text), left.signal).then(
    (result) => ({ answer: result ?? null, failure: null }),
    (error: unknown) => {
      const {
        code,
        message,
        hint,
        details = null,
      } = error instanceof HoltError ? error : new HoltError('internal', 'The other host failed.')
      return { answer: null, failure: { code, message, hint, details } }
    },
  )
  if (!connection.destroyed) connection.end(JSON.stringify(told))
}

async function readAll(connection: PeerConnection, most = maxBytes): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of connection as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > most) throw new Error('the message of another host is too long')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}
