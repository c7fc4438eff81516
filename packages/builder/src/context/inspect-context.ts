import { createHash } from 'node:crypto'
import { BuilderError } from '../errors.ts'
import { ContextTree } from './context-tree.ts'
import { readArchive } from './read-archive.ts'

/** The facts about an uploaded context. */
export interface ContextFacts {
  /** The digest of the bytes as they were sent. */
  readonly sha256: string
  readonly sizeBytes: number
  readonly entries: number
}

/**
 * Checks a context while it is sent, and reads the stream to its end. Throws `BuilderError`
 * `context_invalid` for a context that no build could use. Examples are a damaged archive, names
 * that lead out of it, devices, and more than `contextLimits` allow.
 */
export async function inspectContext(stream: AsyncIterable<Uint8Array>): Promise<ContextFacts> {
  const hash = createHash('sha256')
  let sizeBytes = 0
  let ended = false
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream) {
      hash.update(chunk)
      sizeBytes += chunk.length
      yield chunk
    }
    ended = true
  }
  const tree = new ContextTree()
  for await (const entry of readArchive(counted())) await tree.add(entry, async () => '')
  if (!ended)
    throw new BuilderError('context_invalid', 'The context cannot be read: the archive has bytes after its end.')
  return { sha256: hash.digest('hex'), sizeBytes, entries: tree.entries }
}
