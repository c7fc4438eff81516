import { advance, beginMatch, hasWildcard, isWhole, type PathPattern, type Progress, unescapeName } from '@holt/glob'
import { BuildError } from '../errors.ts'
import type { ContextNode, DirectoryNode } from './context-tree.ts'
import { type ExcludeState, type Excludes, excludesOf } from './exclude-patterns.ts'
import type { SelectOptions } from './open-context.ts'
import { readPattern, requirePathLength } from './read-pattern.ts'
import { resolvePath } from './resolve-path.ts'
import type { SearchAccount } from './search-account.ts'
import type { Chosen, Match } from './selection.ts'
import { sortNames } from './sort-names.ts'

/**
 * The steps charged for each chosen name, in addition to its characters: it is stored, sorted and
 * hashed.
 */
const stepsPerName = 4

/** The characters of a name that are copied, compared and hashed in one step. */
const charsPerStep = 4

/** Options of a search: the choice of sources, and the account to charge. */
interface SearchOptions extends SelectOptions {
  readonly account: SearchAccount
}

/**
 * Selects the entries that the sources of COPY name. A directory stands for its content. A source
 * that is a link is followed, but links in directories are not. A path without an entry is an
 * error. A pattern without a match is an error if nothing else was found either. Yields when it is
 * time to rest.
 */
export function* selectSources(
  root: DirectoryNode,
  sources: readonly string[],
  options: SearchOptions,
): Generator<void, Chosen> {
  const search = new Search(root, options)
  for (const source of sources) {
    requirePathLength(source)
    if (options.parents === true) yield* search.withParents(source)
    else yield* search.plain(source)
  }
  return search.finish(sources)
}

class Search {
  readonly #root: DirectoryNode
  readonly #excludes: Excludes
  readonly #literal: boolean
  readonly #parents: boolean
  readonly #account: SearchAccount
  readonly #matches: Match[] = []
  readonly #nodes = new Map<string, ContextNode>()

  constructor(root: DirectoryNode, { exclude = [], literal = false, parents = false, account }: SearchOptions) {
    this.#root = root
    this.#account = account
    account.spend(stepsPerName)
    this.#excludes = excludesOf(exclude, account)
    this.#literal = literal
    this.#parents = parents
  }

  finish(sources: readonly string[]): Chosen {
    if (this.#matches.length === 0 && sources.length > 0) throw nothing(sources.join(' '))
    const [only] = this.#matches
    const single = !this.#parents && this.#matches.length === 1 && only?.type !== 'directory' && this.#nodes.size === 1
    return { kind: single ? 'file' : 'tree', matches: this.#matches, nodes: this.#nodes }
  }

  *plain(source: string): Generator<void> {
    for (const path of yield* this.#pathsOf(this.#root, componentsOf(source), source)) {
      const node = resolvePath(this.#root, path, this.#account.spend)
      if (node === null) throw nothing(source)
      this.#matches.push({ path: path.join('/'), type: node.type })
      const begin = this.#excludes.begin()
      if (node.type === 'directory') yield* this.#takeContent(node, '', begin)
      else yield* this.#take(path.at(-1) ?? '', node, yield* this.#excludes.enter(begin, path.at(-1) ?? ''))
      if (this.#account.isDue) yield
    }
  }

  /** Selects a source of `--parents`. In `a/./b/c`, names begin after the dot. */
  *withParents(source: string): Generator<void> {
    const pivot = source.indexOf('/./')
    const before = pivot === -1 ? [] : componentsOf(source.slice(0, pivot))
    const components = componentsOf(pivot === -1 ? source : source.slice(pivot + 3))
    const matchesBefore = this.#matches.length
    for (const base of yield* this.#pathsOf(this.#root, before, source)) {
      const directory = resolvePath(this.#root, base, this.#account.spend)
      if (directory?.type !== 'directory') continue
      for (const path of yield* this.#pathsOf(directory, components, source)) {
        yield* this.#takeWithParents(directory, base, path)
        if (this.#account.isDue) yield
      }
    }
    const wild = !this.#literal && [...before, ...components].some(hasWildcard)
    if (this.#matches.length === matchesBefore && !wild) throw nothing(source)
  }

  *#takeWithParents(directory: DirectoryNode, base: readonly string[], path: readonly string[]): Generator<void> {
    const nodes: ContextNode[] = []
    for (const part of path) {
      const parent = nodes.at(-1) ?? directory
      const node = parent.type === 'directory' ? parent.children.get(part) : undefined
      if (node === undefined) return
      nodes.push(node)
    }
    const last = nodes.at(-1) ?? directory
    this.#matches.push({ path: [...base, ...path].join('/'), type: last.type })
    let state = this.#excludes.begin()
    for (const part of path) state = yield* this.#excludes.enter(state, part)
    if (this.#excludes.isExcluded(state)) return
    for (const [at, node] of nodes.entries()) this.#add(path.slice(0, at + 1).join('/'), node)
    if (last.type === 'directory') yield* this.#takeContent(last, path.join('/'), state)
  }

  /**
   * Returns the paths that a source names: the path itself, or all that match below the part before
   * its first wildcard.
   */
  *#pathsOf(
    root: DirectoryNode,
    components: readonly string[],
    source: string,
  ): Generator<void, (readonly string[])[]> {
    const { spend } = this.#account
    const wild = this.#literal ? -1 : components.findIndex(hasWildcard)
    const plain = this.#literal ? components : components.map(unescapeName)
    if (wild === -1) {
      if (!this.#parents && resolvePath(root, plain, spend) === null) throw nothing(source)
      return [plain]
    }
    const start = plain.slice(0, wild)
    const directory = resolvePath(root, start, spend)
    if (directory?.type !== 'directory') return []
    const pattern = readPattern(components.slice(wild))
    return yield* this.#findBelow(directory, start, pattern)
  }

  /**
   * Returns the matching paths below a directory, in order. Not recursive: a path may have 2048
   * components.
   */
  *#findBelow(
    directory: DirectoryNode,
    start: readonly string[],
    pattern: PathPattern,
  ): Generator<void, (readonly string[])[]> {
    const found: (readonly string[])[] = []
    const open = [yield* this.#enter(directory, start, beginMatch(pattern))]
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const name = top.names[top.at]
      top.at += 1
      if (name === undefined) open.pop()
      else {
        this.#account.spend(top.path.length + 1)
        const next = advance(pattern, top.progress, name, this.#account.spend)
        if (this.#account.isDue) yield
        const child = top.node.children.get(name)
        // The content of a found directory comes with it.
        if (isWhole(pattern, next)) found.push([...top.path, name])
        else if (next.size > 0 && child?.type === 'directory')
          open.push(yield* this.#enter(child, [...top.path, name], next))
      }
    }
    return found
  }

  *#enter(node: DirectoryNode, path: readonly string[], progress: Progress): Generator<void, Finding> {
    return { node, path, progress, names: yield* sortNames([...node.children.keys()], this.#account), at: 0 }
  }

  *#takeContent(directory: DirectoryNode, name: string, state: ExcludeState): Generator<void> {
    yield* this.#takeOpen([{ node: directory, name, state, children: directory.children.entries(), excludedAt: null }])
  }

  *#take(name: string, node: ContextNode, state: ExcludeState): Generator<void> {
    const open: Taking[] = []
    this.#begin(open, { name, node, state })
    yield* this.#takeOpen(open)
  }

  /** Takes the content of open directories. Not recursive: a path may have 2048 components. */
  *#takeOpen(open: Taking[]): Generator<void> {
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const next = top.children.next()
      if (next.done === true) {
        open.pop()
        // The directory is needed because something in it is kept.
        if (top.excludedAt !== null && this.#nodes.size > top.excludedAt) this.#add(top.name, top.node)
        continue
      }
      const [child, node] = next.value
      const name = top.name === '' ? child : `${top.name}/${child}`
      this.#begin(open, { name, node, state: yield* this.#excludes.enter(top.state, child) })
      if (this.#account.isDue) yield
    }
  }

  /** Takes a node, and opens it if its content may be taken. */
  #begin(open: Taking[], { name, node, state }: Pick<Taking, 'name' | 'state'> & { readonly node: ContextNode }): void {
    this.#account.spend(1)
    const excluded = this.#excludes.isExcluded(state)
    if (!excluded) this.#add(name, node)
    if (node.type !== 'directory' || (excluded && !this.#excludes.canKeep)) return
    const excludedAt = excluded ? this.#nodes.size : null
    open.push({ name, node, state, children: node.children.entries(), excludedAt })
  }

  #add(name: string, node: ContextNode): void {
    this.#account.spend(stepsPerName + Math.ceil(name.length / charsPerStep))
    const present = this.#nodes.get(name)
    if (present !== undefined && (present.type === 'directory') !== (node.type === 'directory')) {
      throw new BuildError(
        'step_failed',
        `The sources have ${JSON.stringify(name)} both as a directory and as something else.`,
      )
    }
    this.#nodes.set(name, node)
  }
}

/** A directory in which a pattern is searched, with the progress of the match. */
interface Finding {
  readonly node: DirectoryNode
  readonly path: readonly string[]
  readonly progress: Progress
  readonly names: readonly string[]
  at: number
}

/** A directory whose content is taken. */
interface Taking {
  readonly name: string
  readonly node: DirectoryNode
  readonly state: ExcludeState
  readonly children: Iterator<[string, ContextNode]>
  /**
   * The number of names when an excluded directory was entered, or null if the directory itself is
   * taken.
   */
  readonly excludedAt: number | null
}

/**
 * Returns the components of a source. They begin at the root of the context, and `..` at the root
 * is the root.
 */
function componentsOf(source: string): string[] {
  const components: string[] = []
  for (const part of source.split('/')) {
    if (part === '..') components.pop()
    else if (part !== '' && part !== '.') components.push(part)
  }
  return components
}

function nothing(source: string): BuildError {
  const shown = source.length > 200 ? `${source.slice(0, 200)}...` : source
  return new BuildError('step_failed', `Nothing in the context matches ${JSON.stringify(shown)}.`, {
    hint: 'Paths are relative to the directory that was sent. Check its .dockerignore too.',
    details: { path: shown },
  })
}
