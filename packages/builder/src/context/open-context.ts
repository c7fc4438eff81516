import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Entry } from '@holt/erofs'
import type { ContextArchive } from '../build/contract.ts'
import { ContextTree } from './context-tree.ts'
import { readArchive } from './read-archive.ts'
import { selectSources } from './select-sources.ts'
import { packSelection, type Selection } from './selection.ts'

/** How COPY and ADD choose. */
export interface SelectOptions {
  /** Patterns of `--exclude`, relative to each source. */
  readonly exclude?: readonly string[] | undefined
  /** `--parents`: names keep the directories before them, from `/./` on. */
  readonly parents?: boolean | undefined
  /** Sources are paths and no patterns. */
  readonly literal?: boolean | undefined
}

/** The files that came with a build. They are read from the archive, and never unpacked. */
export interface Context {
  readonly sha256: string
  /** What sources name. Throws `BuildError`: `step_failed` where one names nothing. */
  select(sources: readonly string[], options?: SelectOptions): Selection
}

/** Reads an uploaded context once; what it keeps in memory is bounded by `contextLimits`. */
export async function openContext(archive: ContextArchive, signal?: AbortSignal): Promise<Context> {
  const tree = new ContextTree()
  for await (const entry of membersOf(archive)) {
    signal?.throwIfAborted()
    await tree.add(entry, () => digestOf(entry, signal))
  }
  return contextOf(tree, archive.sha256, () => membersOf(archive))
}

/** A context without any file, for builds that were sent none. */
export function emptyContext(): Context {
  return contextOf(new ContextTree(), 'none', async function* () {})
}

function contextOf(tree: ContextTree, sha256: string, members: () => AsyncIterable<Entry>): Context {
  return {
    sha256,
    select: (sources, options = {}) => packSelection(selectSources(tree.root, sources, options), members),
  }
}

function membersOf(archive: ContextArchive): AsyncGenerator<Entry> {
  return readArchive(createReadStream(archive.path, { highWaterMark: 1 << 20 }))
}

async function digestOf(entry: Entry, signal: AbortSignal | undefined): Promise<string> {
  const hash = createHash('sha256')
  if (entry.type === 'file' && entry.body !== undefined) {
    for await (const chunk of entry.body) {
      signal?.throwIfAborted()
      hash.update(chunk)
    }
  }
  return hash.digest('hex')
}
