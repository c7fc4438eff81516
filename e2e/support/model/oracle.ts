import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  symlinkSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import {
  below,
  type Code,
  clear,
  isInside,
  kindOf,
  look,
  makeRoom,
  putFile,
  realParent,
  roomProblem,
  setOwner,
  writeTarget,
} from './host-tree.ts'
import type { Operation } from './operations.ts'

/** The expected result of an operation: one of several failures, or a success with this answer. */
export type Expected =
  | { readonly type: 'failure'; readonly codes: ReadonlySet<Code> }
  | { readonly type: 'success'; readonly answer: unknown }

const runtimeUser = [1000, 1000] as const
const accounts: Readonly<Record<string, readonly [number, number]>> = { root: [0, 0], user: runtimeUser }

function idsOf(user: string): readonly [number, number | null] {
  const account = accounts[user]
  if (account !== undefined) return account
  const [uid, gid] = user.split(':').map(Number)
  return [uid ?? 0, gid ?? null]
}

/**
 * The promises of the API, carried out in a plain directory of this machine with Node's file system
 * calls and `cp -a`. If an operation has several faults, any of their codes will do: the contract
 * does not say which comes first.
 */
export class Oracle {
  readonly #base: string
  readonly #top: string

  /** `base` is never left; `top` is the tree. */
  constructor(base: string, top: string) {
    this.#base = base
    this.#top = top
  }

  /** True if links lead an operation out of the directory. It must not be carried out here. */
  leaves(operation: Operation): boolean {
    const paths = 'source' in operation ? [operation.source, operation.destination] : [operation.path]
    return paths.some((path) => {
      const at = this.#at(path)
      const target = writeTarget(at)
      return [at, typeof target === 'string' ? at : target.path].some((place) => {
        const parent = realParent(place)
        return typeof parent !== 'string' && !isInside(parent.dir, this.#base)
      })
    })
  }

  /** Does the operation, if it can be done, and says what has to come of it. */
  apply(operation: Operation): Expected {
    const codes = new Set<Code>()
    const answer = this.#steps[operation.type](operation as never, (code) => {
      if (code !== null) codes.add(code)
      return codes.size > 0
    })
    return codes.size > 0 ? { type: 'failure', codes } : { type: 'success', answer }
  }

  /**
   * Puts a tree into a place. It is made aside, because its source may be below the place. The
   * place is resolved before, because its path may lead through a link that moves.
   */
  #replace(to: string, makeAside: (aside: string) => unknown): null {
    const aside = `${this.#base}-aside`
    makeRoom(to, runtimeUser)
    const place = join(realpathSync(dirname(to)), basename(to))
    makeAside(aside)
    clear(place)
    renameSync(aside, place)
    return null
  }

  #at(path: string): string {
    return join(this.#top, path)
  }

  readonly #steps: { readonly [Type in Operation['type']]: Step<Type> } = {
    write: ({ path, parts, how }, refuse) => {
      const at = this.#at(path)
      const there = look(at, 'itself')
      if (how.createOnly && typeof there !== 'string') refuse('already_exists')
      if (how.createOnly && typeof there === 'string' && there !== 'path_not_found') refuse(there)
      const target = writeTarget(at)
      if (typeof target === 'string') {
        refuse(target)
        return null
      }
      const { stats } = target
      if (stats !== null && !stats.isFile()) refuse(stats.isDirectory() ? 'is_directory' : 'not_a_file')
      if (refuse(roomProblem(this.#base, target.path))) return null
      const [uid, gid] = how.user === null ? runtimeUser : idsOf(how.user)
      makeRoom(target.path, [uid, gid ?? 0])
      const owner = stats !== null && how.user === null ? { uid: stats.uid, gid: stats.gid } : { uid, gid: gid ?? 0 }
      const mode = how.mode === null ? (stats === null ? 0o644 : stats.mode & 0o7777) : Number.parseInt(how.mode, 8)
      putFile(target.path, parts.join(''), { mode, ...owner })
      return { created: stats === null }
    },
    mkdir: ({ path, parents, mode, user }, refuse) => {
      const at = this.#at(path)
      const itself = look(at, 'itself')
      const followed = look(at, 'follow')
      if (typeof itself !== 'string') {
        const isThere = parents && typeof followed !== 'string' && followed.isDirectory()
        if (!isThere) refuse('already_exists')
        return { created: false }
      }
      if (itself !== 'path_not_found') refuse(itself)
      const parent = look(dirname(at), 'follow')
      if (parents) refuse(roomProblem(this.#base, at))
      else if (typeof parent === 'string') refuse(parent)
      else if (!parent.isDirectory()) refuse('not_a_directory')
      if (refuse(null)) return null
      const [uid, gid] = user === null ? runtimeUser : idsOf(user)
      makeRoom(at, [uid, gid ?? 0])
      mkdirSync(at)
      chownSync(at, uid, gid ?? 0)
      chmodSync(at, Number.parseInt(mode, 8))
      return { created: true }
    },
    move: ({ source, destination, overwrite }, refuse) => {
      if (this.#refuseTransfer({ source, destination, overwrite, recursive: true }, refuse)) return null
      const [from, to] = [this.#at(source), this.#at(destination)]
      return this.#replace(to, (aside) => renameSync(from, aside))
    },
    copy: ({ source, destination, recursive, overwrite }, refuse) => {
      if (this.#refuseTransfer({ source, destination, overwrite, recursive }, refuse)) return null
      const [from, to] = [this.#at(source), this.#at(destination)]
      return this.#replace(to, (aside) => execFileSync('cp', ['-a', '-T', '--', from, aside]))
    },
    remove: ({ path, recursive }, refuse) => {
      const at = this.#at(path)
      const found = look(at, 'itself')
      if (typeof found === 'string') refuse(found)
      else if (found.isDirectory() && !recursive && below(at, 1).length > 0) refuse('directory_not_empty')
      if (!refuse(null)) clear(at)
      return null
    },
    symlink: ({ path, target, overwrite }, refuse) => {
      const at = this.#at(path)
      const found = look(at, 'itself')
      if (typeof found !== 'string' && !overwrite) refuse('already_exists')
      if (typeof found === 'string' && found !== 'path_not_found') refuse(found)
      if (refuse(roomProblem(this.#base, at))) return null
      makeRoom(at, runtimeUser)
      clear(at)
      symlinkSync(target, at)
      setOwner(at, ...runtimeUser)
      return { created: typeof found === 'string' }
    },
    chmod: ({ path, mode, recursive }, refuse) => {
      const at = this.#at(path)
      const found = look(at, recursive ? 'itself' : 'follow')
      if (typeof found === 'string') {
        refuse(found)
        return null
      }
      const all = [at, ...(recursive && found.isDirectory() ? below(at) : [])]
      const set = recursive ? all.filter((one) => !lstatSync(one).isSymbolicLink()) : all
      for (const one of set) chmodSync(one, Number.parseInt(mode, 8))
      return { changed: set.length }
    },
    chown: ({ path, user, recursive }, refuse) => {
      const at = this.#at(path)
      const found = look(at, 'itself')
      if (typeof found === 'string') {
        refuse(found)
        return null
      }
      const all = [at, ...(recursive && found.isDirectory() ? below(at) : [])]
      for (const one of all) setOwner(one, ...idsOf(user))
      return { changed: all.length }
    },
    replace: ({ path, named, pattern, replacement }, refuse) => {
      const at = this.#at(path)
      const found = look(at, 'follow')
      if (typeof found === 'string') {
        refuse(found)
        return null
      }
      if (named && found.isDirectory()) refuse('is_directory')
      if (!found.isDirectory() && !found.isFile()) refuse('not_a_file')
      if (refuse(null)) return null
      const files = found.isDirectory() ? below(at).filter((one) => lstatSync(one).isFile()) : [at]
      let count = 0
      for (const file of files) {
        const target = realpathSync(file)
        const text = readFileSync(target, 'utf8')
        const times = text.split(pattern).length - 1
        count += times
        const { mode, uid, gid } = lstatSync(target)
        if (times > 0) putFile(target, text.replaceAll(pattern, replacement), { mode: mode & 0o7777, uid, gid })
      }
      return { total_count: count }
    },
    list: ({ path, depth }, refuse) => {
      const at = this.#at(path)
      const found = look(at, 'follow')
      if (typeof found === 'string') refuse(found)
      else if (!found.isDirectory()) refuse('not_a_directory')
      if (refuse(null)) return null
      return below(at, depth).map((one) => `${kindOf(lstatSync(one))} ${relative(at, one)}`)
    },
    stat: ({ path }, refuse) => {
      const at = this.#at(path)
      const found = look(at, 'itself')
      if (typeof found === 'string') {
        refuse(found)
        return null
      }
      const { mode, uid, gid } = found
      const symlink_target = found.isSymbolicLink() ? readlinkSync(at) : null
      const size = found.isFile() ? { size_bytes: found.size } : {}
      return {
        type: kindOf(found),
        mode: (mode & 0o7777).toString(8).padStart(4, '0'),
        uid,
        gid,
        symlink_target,
        ...size,
      }
    },
    read: ({ path }, refuse) => {
      const at = this.#at(path)
      const found = look(at, 'follow')
      if (typeof found === 'string') refuse(found)
      else if (!found.isFile()) refuse(found.isDirectory() ? 'is_directory' : 'not_a_file')
      return refuse(null) ? null : readFileSync(at, 'utf8')
    },
  }

  #refuseTransfer(
    {
      source,
      destination,
      overwrite,
      recursive,
    }: { source: string; destination: string; overwrite: boolean; recursive: boolean },
    refuse: Refuse,
  ): boolean {
    const [from, to] = [this.#at(source), this.#at(destination)]
    const [src, dst] = [look(from, 'itself'), look(to, 'itself')]
    if (typeof src === 'string') return refuse(src)
    const [above, aboveSource] = [realParent(to), realParent(from)]
    if (typeof above === 'string') refuse(above)
    const exists = typeof dst !== 'string'
    if (exists && dst.ino === src.ino && dst.dev === src.dev) refuse('invalid_request')
    if (src.isDirectory() && typeof above !== 'string' && isInside(above.dir, realpathSync(from)))
      refuse('invalid_request')
    if (
      exists &&
      dst.isDirectory() &&
      overwrite &&
      typeof aboveSource !== 'string' &&
      isInside(aboveSource.dir, realpathSync(to))
    )
      refuse('invalid_request')
    if (src.isDirectory() && !recursive) refuse('is_directory')
    if (exists && !overwrite) refuse('already_exists')
    if (!exists && dst !== 'path_not_found') refuse(dst)
    return refuse(roomProblem(this.#base, to))
  }
}

/** Notes a code, if it is one, and tells whether there are any. */
type Refuse = (code: Code | null) => boolean
type Step<Type extends Operation['type']> = (operation: Extract<Operation, { type: Type }>, refuse: Refuse) => unknown
