import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Entry } from '@holt/tar'
import type { ContextArchive } from '../contract/build-contract.ts'
import { Pace } from '../pace.ts'
import { ContextTree } from './context-tree.ts'
import { readArchive } from './read-archive.ts'
import { SearchAccount } from './search-account.ts'
import { selectSources } from './select-sources.ts'
import { packSelection, type Selection } from './selection.ts'

/** Options of COPY and ADD for choosing entries. */
export interface SelectOptions {
  /** Patterns of `--exclude`, relative to each source. */
  readonly exclude?: readonly string[] | undefined
  /** `--parents`: names keep the directories before them, from `/./` on. */
  readonly parents?: boolean | undefined
  /** True if sources are paths and no patterns. */
  readonly literal?: boolean | undefined
}

/** The files sent with a build. They are read from the archive and never unpacked. */
export interface Context {
  readonly sha256: string
  /**
   * Returns the entries that sources name. Rejects with `BuildError` `step_failed` if a source
   * matches nothing, or if the search exceeds its account.
   */
  select(sources: readonly string[], options?: SelectOptions): Promise<Selection>
}

/**
 * Opens an uploaded context with one pass over its archive. `contextLimits` bounds its memory, and
 * `account` bounds the searches in it.
 */
export async function openContext(
  archive: ContextArchive,
  { signal, account = new SearchAccount() }: OpenOptions = {},
): Promise<Context> {
  const tree = new ContextTree()
  const pace = new Pace()
  for await (const entry of membersOf(archive)) {
    signal?.throwIfAborted()
    await tree.add(entry, () => digestOf(entry, { pace, signal }))
  }
  return contextOf(tree, { sha256: archive.sha256, members: () => membersOf(archive), signal, account })
}

/** Returns a context without files, for builds that were sent none. */
export function emptyContext(): Context {
  return contextOf(new ContextTree(), { sha256: 'none', members: async function* () {}, account: new SearchAccount() })
}

/** Options for opening a context. */
interface OpenOptions {
  /** Ends the reading and all later searches. */
  readonly signal?: AbortSignal | undefined
  /** The account for searches. Default: a new one, with the limit of one build. */
  readonly account?: SearchAccount
}

function contextOf(
  tree: ContextTree,
  {
    sha256,
    members,
    signal,
    account,
  }: {
    readonly sha256: string
    readonly members: () => AsyncIterable<Entry>
    readonly signal?: AbortSignal | undefined
    readonly account: SearchAccount
  },
): Context {
  const search = function* (sources: readonly string[], options: SelectOptions): Generator<void, Selection> {
    const chosen = yield* selectSources(tree.root, sources, { ...options, account })
    return yield* packSelection(chosen, members, account)
  }
  return { sha256, select: (sources, options = {}) => account.finish(search(sources, options), signal) }
}

function membersOf(archive: ContextArchive): AsyncGenerator<Entry> {
  return readArchive(createReadStream(archive.path, { highWaterMark: 1 << 20 }))
}

/**
 * Returns the SHA-256 of the content. It pauses for other work: the zeros of holes need no reading,
 * so a small archive may have many GiB of them.
 */
async function digestOf(
  entry: Entry,
  { pace, signal }: { readonly pace: Pace; readonly signal: AbortSignal | undefined },
): Promise<string> {
  const hash = createHash('sha256')
  if (entry.type === 'file' && entry.body !== undefined) {
    for await (const chunk of entry.body) {
      signal?.throwIfAborted()
      hash.update(chunk)
      await pace.restIfDue()
    }
  }
  return hash.digest('hex')
}
