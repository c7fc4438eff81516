import { BuildError } from '../build/contract.ts'
import type { ContextNode, DirectoryNode } from './context-tree.ts'
import { type ExcludeState, Excludes } from './exclude-patterns.ts'
import {
  advance,
  beginMatch,
  hasWildcard,
  isWhole,
  type Progress,
  readPathPattern,
  type Spend,
  unescapeName,
} from './match-path.ts'
import type { SelectOptions } from './open-context.ts'
import { resolvePath } from './resolve-path.ts'
import type { Chosen, Match } from './selection.ts'

/** Characters of names that one COPY may look at, so that many patterns over a large context end in about a second. */
const MAX_STEPS = 50_000_000

/**
 * What the sources of COPY name. Directories give their content; a source that is a link is followed, links in directories are not. A path that
 * names nothing is an error; patterns that match nothing are one when nothing else was found either.
 */
export function selectSources(root: DirectoryNode, sources: readonly string[], options: SelectOptions): Chosen {
  const search = new Search(root, options)
  for (const source of sources) {
    if (options.parents === true) search.withParents(source)
    else search.plain(source)
  }
  return search.finish(sources)
}

class Search {
  readonly #root: DirectoryNode
  readonly #excludes: Excludes
  readonly #literal: boolean
  readonly #parents: boolean
  readonly #matches: Match[] = []
  readonly #nodes = new Map<string, ContextNode>()
  #steps = 0

  constructor(root: DirectoryNode, { exclude = [], literal = false, parents = false }: SelectOptions) {
    this.#root = root
    this.#excludes = new Excludes(exclude, this.#spend)
    this.#literal = literal
    this.#parents = parents
  }

  finish(sources: readonly string[]): Chosen {
    if (this.#matches.length === 0 && sources.length > 0) throw nothing(sources.join(' '))
    const [only] = this.#matches
    const single = !this.#parents && this.#matches.length === 1 && only?.type !== 'directory' && this.#nodes.size === 1
    return { kind: single ? 'file' : 'tree', matches: this.#matches, nodes: this.#nodes }
  }

  plain(source: string): void {
    for (const path of this.#pathsOf(this.#root, componentsOf(source), source)) {
      const node = resolvePath(this.#root, path)
      if (node === null) throw nothing(source)
      this.#matches.push({ path: path.join('/'), type: node.type })
      const begin = this.#excludes.begin()
      if (node.type === 'directory') this.#takeContent(node, '', begin)
      else this.#take(path.at(-1) ?? '', node, this.#excludes.enter(begin, path.at(-1) ?? ''))
    }
  }

  /** `a/./b/c`: what stands before the dot is where names begin. */
  withParents(source: string): void {
    const pivot = source.indexOf('/./')
    const before = pivot === -1 ? [] : componentsOf(source.slice(0, pivot))
    const components = componentsOf(pivot === -1 ? source : source.slice(pivot + 3))
    const matchesBefore = this.#matches.length
    for (const base of this.#pathsOf(this.#root, before, source)) {
      const directory = resolvePath(this.#root, base)
      if (directory?.type !== 'directory') continue
      for (const path of this.#pathsOf(directory, components, source)) this.#takeWithParents(directory, base, path)
    }
    const wild = !this.#literal && [...before, ...components].some(hasWildcard)
    if (this.#matches.length === matchesBefore && !wild) throw nothing(source)
  }

  #takeWithParents(directory: DirectoryNode, base: readonly string[], path: readonly string[]): void {
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
    for (const part of path) state = this.#excludes.enter(state, part)
    if (this.#excludes.isExcluded(state)) return
    for (const [at, node] of nodes.entries()) this.#add(path.slice(0, at + 1).join('/'), node)
    if (last.type === 'directory') this.#takeContent(last, path.join('/'), state)
  }

  /** Paths that a source names: itself, or what fits it below the part before its first wildcard. */
  #pathsOf(root: DirectoryNode, components: readonly string[], source: string): (readonly string[])[] {
    const wild = this.#literal ? -1 : components.findIndex(hasWildcard)
    const plain = this.#literal ? components : components.map(unescapeName)
    if (wild === -1) {
      if (!this.#parents && resolvePath(root, plain) === null) throw nothing(source)
      return [plain]
    }
    const start = plain.slice(0, wild)
    const directory = resolvePath(root, start)
    if (directory?.type !== 'directory') return []
    const pattern = readPathPattern(components.slice(wild))
    const found: string[][] = []
    const walk = (node: DirectoryNode, path: readonly string[], progress: Progress): void => {
      for (const name of [...node.children.keys()].sort()) {
        this.#spend(path.length + 1)
        const next = advance(pattern, progress, name, this.#spend)
        if (next.size === 0) continue
        const child = node.children.get(name)
        // What is in a directory that was found comes with it.
        if (isWhole(pattern, next)) found.push([...path, name])
        else if (child?.type === 'directory') walk(child, [...path, name], next)
      }
    }
    walk(directory, start, beginMatch(pattern))
    return found
  }

  #takeContent(directory: DirectoryNode, name: string, state: ExcludeState): void {
    for (const [child, node] of directory.children) {
      this.#take(name === '' ? child : `${name}/${child}`, node, this.#excludes.enter(state, child))
    }
  }

  #take(name: string, node: ContextNode, state: ExcludeState): void {
    this.#spend(name.length)
    const excluded = this.#excludes.isExcluded(state)
    if (!excluded) this.#add(name, node)
    if (node.type !== 'directory' || (excluded && !this.#excludes.canKeep)) return
    const before = this.#nodes.size
    this.#takeContent(node, name, state)
    // Something in it is kept, and so it has to be there.
    if (excluded && this.#nodes.size > before) this.#add(name, node)
  }

  #add(name: string, node: ContextNode): void {
    const present = this.#nodes.get(name)
    if (present !== undefined && (present.type === 'directory') !== (node.type === 'directory')) {
      throw new BuildError('step_failed', `The sources have ${JSON.stringify(name)} both as a directory and as none.`)
    }
    this.#nodes.set(name, node)
  }

  readonly #spend: Spend = (steps) => {
    this.#steps += steps
    if (this.#steps <= MAX_STEPS) return
    throw new BuildError('step_failed', 'The sources match too many names of the context.', {
      hint: 'Copy directories as a whole, or send fewer files.',
    })
  }
}

/** A source is always within the context: it begins at its root, and `..` there is the root. */
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
  return new BuildError('step_failed', `There is nothing in the context that ${JSON.stringify(shown)} names.`, {
    hint: 'Paths are relative to the directory that was sent; look also at its .dockerignore.',
    details: { path: shown },
  })
}
