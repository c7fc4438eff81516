import { createHash } from 'node:crypto'
import { BuilderError } from '../errors.ts'
import { ContextTree } from './context-tree.ts'
import { readArchive } from './read-archive.ts'

/** What an uploaded context is. */
export interface ContextFacts {
  /** Of the bytes as they were sent. */
  readonly sha256: string
  readonly sizeBytes: number
  readonly entries: number
}

/**
 * Looks through a context while it is sent, and reads the stream to its end. Throws `BuilderError`
 * `context_invalid` for what no build could use: a damaged archive, names that lead out, devices,
 * more than `contextLimits` allow.
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
  if (!ended) throw new BuilderError('context_invalid', 'The context cannot be read: more follows after its end.')
  return { sha256: hash.digest('hex'), sizeBytes, entries: tree.entries }
}
