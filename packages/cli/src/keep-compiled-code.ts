import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { bundleId } from './bundle-id.ts'

/** Older bundles whose compiled code stays beside that of this one: for programs that still run. */
const keptBundles = 2

/**
 * Lets V8 keep the compiled code of the bundle below the user's cache directory, so that the next start need not compile it. Does nothing for sources, which
 * change, nor where the directory cannot be made, or belongs to another user, whose code this one would run.
 */
export function keepCompiledCode(): void {
  if (bundleId === null) return
  try {
    enableCompileCache(makeFolder(bundleId))
  } catch {
    // The program runs as well without: it is compiled anew.
  }
}

/** Makes the directory of this bundle, and removes those of old ones when it is new. */
function makeFolder(name: string): string {
  const { XDG_CACHE_HOME } = process.env
  const base = XDG_CACHE_HOME?.startsWith('/') ? XDG_CACHE_HOME : join(homedir(), '.cache')
  const kept = join(base, 'holt', 'compiled')
  const ours = join(kept, name)
  if (!existsSync(ours)) {
    // One by one: Node makes a whole path, here and in its cache, in an endless loop where the file system answers ENOENT, as /proc does.
    for (const path of [base, join(base, 'holt'), kept]) makeOwn(path)
    removeOld(kept)
  }
  makeOwn(ours)
  return ours
}

/** Makes a directory where there is none. Throws where it is not this user's own. */
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
