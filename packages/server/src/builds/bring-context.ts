import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { HoltError } from '@holt/protocol'
import type { BuildContextRow } from '../foundation/store/build-tables.ts'
import type { Builds } from './builds.ts'
import { isOwn } from './context-host.ts'
import { diskFull, roomBelow } from './store-context.ts'

/**
 * Returns the path of the tar of a context. If another host of the fleet has it, it is copied to
 * this host first. Throws `context_not_found` if that host cannot be reached. Hold the context
 * before: nothing removes its file then.
 */
export async function bringContext(service: Builds, row: BuildContextRow, signal: AbortSignal): Promise<string> {
  const { builds } = service
  const path = builds.paths.context(row.context_id)
  if (isOwn(service, row)) return path
  return builds.copies.run(row.context_id, async () => {
    if (!(await isThere(path))) await copy(service, row, { path, signal })
    return path
  })
}

/** Throws if a build cannot have a context: the host that has it is not heard of. */
export async function requireReachable(service: Builds, row: BuildContextRow): Promise<void> {
  if (isOwn(service, row) || service.hosts.silentMs(row.host_id ?? '') === null) return
  if (!(await isThere(service.builds.paths.context(row.context_id)))) throw unreachable(row)
}

async function copy(
  { builds }: Builds,
  row: BuildContextRow,
  { path, signal }: { readonly path: string; readonly signal: AbortSignal },
): Promise<void> {
  await mkdir(builds.paths.contexts, { recursive: true, mode: 0o700 })
  if ((await roomBelow(path)) < row.file_bytes) throw diskFull()
  const part = `${path}.copy`
  try {
    const content = builds.otherHosts.readContext?.(row.host_id ?? '', row.context_id, signal)
    if (content === undefined) throw unreachable(row)
    await pipeline(content, createWriteStream(part, { mode: 0o600 }), { signal }).catch((error: unknown) => {
      signal.throwIfAborted()
      throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? diskFull() : unreachable(row, error)
    })
    if ((await stat(part)).size !== row.file_bytes) throw unreachable(row)
    await rename(part, path)
  } finally {
    await rm(part, { force: true })
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

function unreachable({ context_id }: BuildContextRow, cause?: unknown): HoltError {
  return new HoltError('context_not_found', 'The host that has the build context cannot be reached.', {
    hint: 'Upload the context again, to any host, and start the build again.',
    details: { context_id },
    cause,
  })
}
