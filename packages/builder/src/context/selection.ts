import { createHash } from 'node:crypto'
import { type Entry, type FileEntry, writeTar } from '@holt/tar'
import { BuilderError } from '../errors.ts'
import type { ContextNode, FileNode } from './context-tree.ts'
import type { SearchAccount } from './search-account.ts'
import { sortNames } from './sort-names.ts'

/** One entry that a source named. */
export interface Match {
  /** The path in the context. */
  readonly path: string
  readonly type: ContextNode['type']
}

/** The chosen entries, by their names at the destination. */
export interface Chosen {
  readonly kind: 'file' | 'tree'
  readonly matches: readonly Match[]
  readonly nodes: ReadonlyMap<string, ContextNode>
}

/** The entries of a context that one COPY takes. */
export interface Selection {
  /**
   * `file`: one file, which may take the destination's name. `tree`: the destination is a
   * directory, and names are relative to it.
   */
  readonly kind: 'file' | 'tree'
  readonly matches: readonly Match[]
  /** The SHA-256 over names, modes, contents and link targets, but not times and owners. */
  readonly digest: string
  readonly entries: number
  /** The bytes of content, with hard links counted once. */
  readonly contentBytes: number
  /**
   * Returns a tar stream with directories before their content, and 0:0 as the owner of all
   * entries. May be called again.
   */
  tar(): AsyncGenerator<Uint8Array>
}

/**
 * Makes a selection of the chosen entries. `members` reads the archive again. Yields when it is
 * time to rest.
 */
export function* packSelection(
  chosen: Chosen,
  members: () => AsyncIterable<Entry>,
  account: SearchAccount,
): Generator<void, Selection> {
  const names = yield* sortNames([...chosen.nodes.keys()], account)
  const files = new Map<FileNode, string[]>()
  for (const name of names) {
    const node = chosen.nodes.get(name)
    if (node?.type !== 'file') continue
    const at = files.get(node)
    if (at === undefined) files.set(node, [name])
    else at.push(name)
  }
  return {
    kind: chosen.kind,
    matches: chosen.matches,
    digest: yield* digestOf(chosen, { names, files, account }),
    entries: names.length,
    contentBytes: [...files.keys()].reduce((sum, { size }) => sum + size, 0),
    tar: () => writeTar(entriesOf({ chosen, names, files, members })),
  }
}

function* digestOf(
  { kind, nodes }: Chosen,
  {
    names,
    files,
    account,
  }: {
    readonly names: readonly string[]
    readonly files: ReadonlyMap<FileNode, string[]>
    readonly account: SearchAccount
  },
): Generator<void, string> {
  const hash = createHash('sha256')
  hash.update(`${JSON.stringify(['holt-selection-1', kind])}\n`)
  for (const name of names) {
    account.spend(1)
    if (account.isDue) yield
    const node = nodes.get(name)
    if (node === undefined) continue
    const what =
      node.type === 'file'
        ? [node.mode, node.sha256, files.get(node)?.[0] === name ? null : files.get(node)?.[0]]
        : node.type === 'symlink'
          ? [node.target]
          : [node.mode]
    hash.update(`${JSON.stringify([node.type, name, ...what])}\n`)
  }
  return hash.digest('hex')
}

interface Pack {
  readonly chosen: Chosen
  readonly names: readonly string[]
  readonly files: ReadonlyMap<FileNode, readonly string[]>
  readonly members: () => AsyncIterable<Entry>
}

/**
 * Yields directories and links from memory, then files from one more pass over the archive, in its
 * order.
 */
async function* entriesOf({ chosen, names, files, members }: Pack): AsyncGenerator<Entry> {
  for (const name of names) {
    const node = chosen.nodes.get(name)
    if (node?.type === 'directory') yield { ...attributesOf(name, node), type: 'directory' }
    if (node?.type === 'symlink') yield { ...attributesOf(name, node), type: 'symlink', linkTarget: node.target }
  }
  if (files.size === 0) return
  const wanted = new Map([...files].map(([node, at]) => [node.ordinal, { node, at }]))
  let ordinal = 0
  for await (const member of members()) {
    const found = wanted.get(ordinal)
    ordinal += 1
    if (found === undefined) continue
    const [first = '', ...others] = found.at
    const body = bodyOf(member, found.node)
    yield { ...attributesOf(first, found.node), type: 'file', size: found.node.size, body }
    for (const other of others) yield { ...attributesOf(other, found.node), type: 'hardlink', linkTarget: first }
    wanted.delete(ordinal - 1)
    if (wanted.size === 0) return
  }
  throw changed()
}

/**
 * Returns the content of a member. The archive is a file of the service, so it has not changed.
 * Content of another size would break the stream.
 */
function bodyOf(member: Entry, node: FileNode): NonNullable<FileEntry['body']> {
  if (member.type !== 'file' || member.size !== node.size) throw changed()
  return member.body ?? (async function* () {})()
}

function attributesOf(path: string, { mode, mtimeSecs, mtimeNanos }: ContextNode) {
  return { path, mode, mtimeSecs, mtimeNanos, uid: 0, gid: 0 }
}

function changed(): BuilderError {
  return new BuilderError('context_invalid', 'The context changed after it was opened.')
}
