import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { bundleId } from './bundle-id.ts'

/** The number of older bundles whose compiled code is kept, for programs that still run. */
const keptBundles = 2

/**
 * Lets V8 cache the compiled code of the bundle in the user's cache directory, so that the next
 * start is faster. Does nothing for sources, because they change. Does nothing if the directory
 * cannot be created or belongs to another user, who could change the code.
 */
export function keepCompiledCode(): void {
  if (bundleId === null) return
  try {
    enableCompileCache(makeFolder(bundleId))
  } catch {
    // Without the cache the program runs as well; it is compiled again.
  }
}

/** Creates the directory of this bundle. If it is new, removes those of old bundles. */
function makeFolder(name: string): string {
  const { XDG_CACHE_HOME } = process.env
  const base = XDG_CACHE_HOME?.startsWith('/') ? XDG_CACHE_HOME : join(homedir(), '.cache')
  const kept = join(base, 'holt', 'compiled')
  const ours = join(kept, name)
  if (!existsSync(ours)) {
    // One by one: Node's recursive mkdir, here and in its cache, loops endlessly if the file system
    // answers ENOENT, as /proc does.
    for (const path of [base, join(base, 'holt'), kept]) makeOwn(path)
    removeOld(kept)
  }
  makeOwn(ours)
  return ours
}

/** Creates a missing directory. Throws if it does not belong to this user. */
function makeOwn(path: string): void {
  if (!existsSync(path)) mkdirSync(path, { mode: 0o700 })
  if (statSync(path).uid !== process.getuid?.()) throw new Error(`${path} is another user's`)
}

function removeOld(folder: string): void {
  const byAge = readdirSync(folder)
    .map((name) => ({ path: join(folder, name), changedMs: statSync(join(folder, name)).mtimeMs }))
    .toSorted((one, other) => other.changedMs - one.changedMs)
  for (const { path } of byAge.slice(keptBundles)) rmSync(path, { recursive: true, force: true })
}
