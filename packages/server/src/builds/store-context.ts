import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, rename, rm, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { PassThrough, type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { BuilderError, inspectContext } from '@holt/builder'
import { failpoint } from '@holt/failpoints'
import { type BuildContext, HoltError } from '@holt/protocol'
import { limitReached } from '../foundation/errors/limit-reached.ts'
import type { BuildContextRow } from '../foundation/store/build-tables.ts'
import { moment } from '../foundation/store/moment.ts'
import { passOn } from '../foundation/wire/pass-on.ts'
import { RoomAccount } from '../tenancy/limits/project-room.ts'
import type { Builds } from './builds.ts'
import { isOwn } from './context-host.ts'
import { contextKeptMs, removeExcess, requireContextRoom } from './remove-contexts.ts'

/** The maximum size of a context in bytes, packed and unpacked. */
const maxBytes = 4 * 2 ** 30

/** The disk space in bytes that contexts leave to running runtimes. */
const diskReserveBytes = 2 * 2 ** 30

interface Upload {
  readonly projectId: string
  readonly contextId: string
  readonly body: Readable
  /** Aborted when the client has disconnected. */
  readonly gone: AbortSignal
}

/** Stores a context as a plain tar file. Equal bytes return the existing context. */
export async function storeContext(service: Builds, upload: Upload): Promise<BuildContextRow> {
  const { builds, store, now } = service
  const { projectId, contextId } = upload
  await mkdir(builds.paths.contexts, { recursive: true, mode: 0o700 })
  const path = builds.paths.context(contextId)
  const part = `${path}.part`
  using room = new RoomAccount(builds.uploads, projectId)
  try {
    const { sha256, sizeBytes, fileBytes } = await receive(upload, {
      path: part,
      room,
      quietMs: service.limits.quietBodyMs,
    })
    await failpoint('context.received')
    const earlier = await findSame(service, { projectId, sha256 })
    if (earlier !== null) return isOwn(service, earlier) ? earlier : await adopt(service, earlier, part)
    await requireContextRoom(service, { projectId, bytes: fileBytes })
    const { entries } = await inspect(part, upload.gone)
    const at = now()
    await rename(part, path)
    await failpoint('context.named')
    const host_id = service.thisHost.hostId
    const facts = {
      sha256,
      size_bytes: sizeBytes,
      file_bytes: fileBytes,
      entries,
      created_at: at,
      used_at: at,
      host_id,
    }
    const stored = await store.db
      .insertInto('build_contexts')
      .values({ context_id: contextId, project_id: projectId, ...facts })
      .onConflict((conflict) => conflict.columns(['project_id', 'sha256']).doNothing())
      .returningAll()
      .executeTakeFirst()
    await failpoint('context.stored')
    if (stored !== undefined) {
      await removeExcess(service, projectId)
      return stored
    }
    await rm(path, { force: true })
    const other = await findSame(service, { projectId, sha256 })
    if (other !== null) return other
    throw removedMeanwhile()
  } finally {
    await rm(part, { force: true })
  }
}

/** Returns a stored context in the API's form. */
export function presentContext({ context_id, sha256, size_bytes, entries, used_at }: BuildContextRow): BuildContext {
  return {
    context_id: context_id as BuildContext['context_id'],
    sha256,
    size_bytes,
    entries,
    expires_at: moment(used_at + contextKeptMs),
  }
}

/** Returns the project's context with the same bytes, and marks it as used. */
async function findSame(
  { store, now }: Builds,
  { projectId, sha256 }: { projectId: string; sha256: string },
): Promise<BuildContextRow | null> {
  const row = await store.db
    .updateTable('build_contexts')
    .set({ used_at: now() })
    .where('project_id', '=', projectId)
    .where('sha256', '=', sha256)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

/** Gives this host, which has the same bytes, a context that another host has stored. */
async function adopt(
  service: Builds,
  { project_id, context_id }: BuildContextRow,
  part: string,
): Promise<BuildContextRow> {
  const { store, builds, thisHost } = service
  await rename(part, builds.paths.context(context_id))
  const row = await store.db
    .updateTable('build_contexts')
    .set({ host_id: thisHost.hostId })
    .where('project_id', '=', project_id)
    .where('context_id', '=', context_id)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) throw removedMeanwhile()
  return row
}

/** Writes the body to a file, decompressed if necessary, and syncs it. */
async function receive(
  { body, gone }: Upload,
  { path, room, quietMs }: { path: string; room: RoomAccount; quietMs: number },
): Promise<{ sha256: string; sizeBytes: number; fileBytes: number }> {
  const hash = createHash('sha256')
  let sizeBytes = 0
  let fileBytes = 0
  const watchdog = new AbortController()
  const late = () => watchdog.abort(new HoltError('timeout', `No byte arrived for ${quietMs / 1000} seconds.`))
  let timer = setTimeout(late, quietMs)
  const free = roomBelow(path)
  free.catch(() => undefined) // Whoever asks for it sees the failure.
  const sent = new Transform({
    transform: (chunk: Buffer, _, done) => {
      clearTimeout(timer)
      timer = setTimeout(late, quietMs)
      sizeBytes += chunk.length
      hash.update(chunk)
      done(sizeBytes > maxBytes ? tooLarge() : null, chunk)
    },
  })
  const counted = new Transform({
    transform: (chunk: Buffer, _, done) => {
      fileBytes += chunk.length
      if (fileBytes > maxBytes) return done(tooLarge())
      if (room.take(chunk.length) !== null) return done(tooManyUploads(room.limit))
      free.then((bytes) => done(fileBytes > bytes ? diskFull() : null, chunk), done)
    },
  })
  try {
    const head = await readHead(body, watchdog.signal)
    const unpack = isGzip(head) ? createGunzip() : new PassThrough()
    if (head.length > 0) sent.write(head)
    const file = createWriteStream(path, { mode: 0o600 })
    await pipeline(passOn(body, sent), unpack, counted, file, { signal: AbortSignal.any([gone, watchdog.signal]) })
    const handle = await open(path, 'r')
    await handle.sync().finally(() => handle.close())
    return { sha256: hash.digest('hex'), sizeBytes, fileBytes }
  } catch (error) {
    watchdog.signal.throwIfAborted()
    throw meaningOf(error)
  } finally {
    clearTimeout(timer)
  }
}

/** Removes the first bytes from a body and returns them: at least two, if it has as many. */
async function readHead(body: Readable, signal: AbortSignal): Promise<Buffer> {
  let head = Buffer.alloc(0)
  for (;;) {
    // Reads all available bytes. If a stream has fewer than it is asked for, it emits `readable`
    // again at once, and blocks other work.
    const piece = body.read() as Buffer | null
    if (piece !== null) head = Buffer.concat([head, piece])
    if (head.length >= 2 || body.readableEnded || body.destroyed || signal.aborted) return head
    const { promise, resolve } = Promise.withResolvers<void>()
    const events = ['readable', 'end', 'close', 'error'] as const
    for (const event of events) body.once(event, resolve)
    const onAbort = () => resolve()
    signal.addEventListener('abort', onAbort, { once: true })
    await promise
    signal.removeEventListener('abort', onAbort)
    for (const event of events) body.off(event, resolve)
  }
}

/** Returns true if the bytes begin with the mark of gzip (RFC 1952). */
function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b
}

/** Returns the bytes that a file may use on the disk of a path. */
export async function roomBelow(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(dirname(path))
  return bavail * bsize - diskReserveBytes
}

/** Throws if the archive is not valid. */
async function inspect(path: string, signal: AbortSignal): Promise<{ entries: number }> {
  try {
    return await inspectContext(createReadStream(path, { signal }))
  } catch (error) {
    if (error instanceof BuilderError && error.code === 'context_invalid')
      throw new HoltError('invalid_archive', error.message, { cause: error })
    throw error
  }
}

function meaningOf(error: unknown): unknown {
  const { code = '' } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC') return diskFull()
  if (code.startsWith('Z_')) return new HoltError('invalid_archive', 'The archive is not valid gzip.', { cause: error })
  return error
}

function removedMeanwhile(): HoltError {
  return new HoltError('conflict', 'The same context was removed while it was stored.')
}

function tooLarge(): HoltError {
  return new HoltError('too_large', `A build context may have at most ${maxBytes / 2 ** 30} GiB.`, {
    hint: 'Exclude unneeded files: .dockerignore.',
  })
}

function tooManyUploads(limit: number): HoltError {
  return limitReached('rate_limited', 'The project uploads too many large contexts at once.', {
    limit,
    retry_after_secs: 10,
  })
}

/** Returns the error for a context that the disk has no room for. */
export function diskFull(): HoltError {
  return new HoltError('disk_full', "The disk of the service's state directory has no room for this context.")
}
