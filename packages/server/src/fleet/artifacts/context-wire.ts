import { createReadStream } from 'node:fs'
import { constants } from 'node:http2'
import { pipeline } from 'node:stream/promises'
import { isIdParam } from '@holt/protocol'
import type { BuildPaths } from '../../builds/paths.ts'
import type { Log } from '../../foundation/log.ts'
import type { PeerLinks } from '../peers/peer-links.ts'
import type { PeerStream } from '../peers/peer-listener.ts'

/** The path below which a host gives the contexts of builds to other hosts. */
const prefix = '/peer/context/'

/** The time in which another host takes something of a context, in milliseconds. */
const idleMs = 30_000

/** Returns true if another host asks for a context. */
export function isForContext({ headers }: Pick<PeerStream, 'headers'>): boolean {
  return headers[':path']?.startsWith(prefix) === true
}

/** The contexts of a host, for others. */
interface ServedContexts {
  readonly paths: BuildPaths
  /** Returns true if a host may read a context. */
  readonly mayRead: (contextId: string, asker: Pick<PeerStream, 'hostId' | 'trust'>) => Promise<boolean>
  readonly log: Log
}

/**
 * Answers `GET /peer/context/ID` with the tar of a context. An answer may break off. A host that
 * may not read the context gets 403.
 */
export async function serveContext(
  { paths, mayRead, log }: ServedContexts,
  { hostId, trust, stream, headers }: PeerStream,
): Promise<void> {
  const id = headers[':path']?.slice(prefix.length) ?? ''
  if (!isIdParam('context_id', id)) return stream.respond({ ':status': 404 }, { endStream: true })
  if (!(await mayRead(id, { hostId, trust }))) {
    log.warn({ host_id: hostId, context_id: id }, 'a host was refused: the context is not of its projects')
    if (!stream.destroyed && !stream.closed) stream.respond({ ':status': 403 }, { endStream: true })
    return
  }
  const file = createReadStream(paths.context(id))
  file.once('ready', () => {
    if (stream.destroyed || stream.closed) return void file.destroy()
    stream.setTimeout(idleMs, () => stream.close(constants.NGHTTP2_CANCEL))
    stream.respond({ ':status': 200 })
    pipeline(file, stream).catch((err: unknown) => {
      log.debug({ err, host_id: hostId, context_id: id }, 'a context was not sent')
    })
  })
  file.once('error', () => {
    if (!stream.destroyed && !stream.headersSent) stream.respond({ ':status': 404 }, { endStream: true })
  })
}

/** Reads the tar of a context from the host that has it. Throws if that fails. */
export async function* readContext(
  links: Pick<PeerLinks, 'get'>,
  { hostId, contextId }: { readonly hostId: string; readonly contextId: string },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { status, body } = await links.get(hostId, 'bytes', { path: `${prefix}${contextId}`, signal })
  if (status !== 200) throw new Error(`the host answered with status ${status}`)
  yield* body
}
