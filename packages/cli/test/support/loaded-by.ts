import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Ended, type RunHow, runHolt } from './run-holt.ts'

const preload = new URL('list-loaded.mjs', import.meta.url).href

/** The files that a run of the bundled command has loaded. */
export interface Loaded {
  readonly ended: Ended
  /** The files of the bundle. */
  readonly files: readonly string[]
  /** The sources in those files, by their paths in the repository. */
  readonly sources: readonly string[]
  /** True if the global fetch was loaded, which takes longer than everything else. */
  readonly fetch: boolean
  /** True if Node's module for other programs was loaded. */
  readonly childProcess: boolean
}

/** Runs the command of a bundle and lists what it loads. */
export async function loadedBy(bundle: string, args: readonly string[], how: RunHow = {}): Promise<Loaded> {
  const list = join(dirname(bundle), `loaded-${crypto.randomUUID()}.json`)
  const argv = [process.execPath, '--import', preload, join(bundle, 'holt.mjs')]
  const env = { ...how.env, LOADED_FILE: list, XDG_CACHE_HOME: dirname(bundle) }
  const ended = await runHolt(args, { ...how, argv, env })
  const loaded = JSON.parse(await readFile(list, 'utf8')) as { files: string[]; builtins: string[] }
  const files = loaded.files.map((url) => basename(fileURLToPath(url)))
  const contents = filesOf(bundle)
  const fetch = loaded.builtins.includes('NativeModule internal/deps/undici/undici')
  const childProcess = loaded.builtins.includes('NativeModule child_process')
  return { ended, files, sources: files.flatMap((file) => contents[file]?.sources ?? []), fetch, childProcess }
}

/** A file of a bundle: its sources, and the files that load with it and later. */
interface BundledFile {
  readonly sources: readonly string[]
  readonly imports: readonly string[]
  readonly later: readonly string[]
}

/** Returns the content of each file of a bundle. */
export function filesOf(bundle: string): Readonly<Record<string, BundledFile>> {
  return JSON.parse(readFileSync(join(bundle, 'files.json'), 'utf8'))
}
