import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Entry, readTar } from '@holt/tar'
import { BuilderError } from '../errors.ts'
import { runProgram } from '../process/run-program.ts'
import { defaultWorkDir, makeScratch } from '../scratch/make-scratch.ts'
import { startBootstrap } from './bootstrap.ts'
import { hostMirrors, sourceLines } from './mirror.ts'
import { type BuildProgress, ProgressReader } from './progress.ts'
import { loadRecipe, type Recipe } from './recipe.ts'
import { type BaseFacts, readFacts } from './release.ts'
import { type Command, FETCHES, fetchToolchain } from './toolchain.ts'

/** Options for making a base tree. */
export interface BaseTreeOptions {
  /** The directory with recipe.json and hooks/. */
  readonly recipeDir: string
  /**
   * A directory on a disk with about 1.5 GiB of room for a temporary tree. Other users must be able
   * to enter it.
   */
  readonly workDir?: string
  readonly onProgress?: (progress: BuildProgress) => void
  readonly signal: AbortSignal
  readonly env?: NodeJS.ProcessEnv
  /**
   * The npm client of an installation, with its arguments. Downloads then stay out of the user's
   * caches. Default: `npm` on PATH.
   */
  readonly npm?: Command | undefined
}

/** A finished tree. Read `entries` once, then dispose. */
export interface BaseTree extends AsyncDisposable {
  readonly recipe: Recipe
  readonly facts: BaseFacts
  /** The whole tree, as mmdebstrap streams it. Throws at the end if mmdebstrap failed. */
  readonly entries: AsyncIterable<Entry>
}

/**
 * Makes the base template's tree from distribution packages. Needs root. Nothing remains on the
 * host.
 */
export async function makeBaseTree(options: BaseTreeOptions): Promise<BaseTree> {
  const { recipeDir, signal, npm, env = process.env } = options
  if (process.getuid?.() !== 0) throw new BuilderError('tool_failed', 'Making the base template needs root.')
  const recipe = await loadRecipe(recipeDir)
  const reader = new ProgressReader({ fetches: FETCHES, steps: recipe.hooks.length })
  const report = () => options.onProgress?.(reader.progress)
  report()

  await using owned = new AsyncDisposableStack()
  const scratch = await makePlaces(owned.use(await makeScratch(options.workDir ?? defaultWorkDir, 'base')).path)
  const onFetched = () => {
    reader.fetched()
    report()
  }
  const toolchain = await fetchToolchain({ recipe, dir: scratch.assets, env, signal, npm, onFetched })
  const plan = {
    recipe,
    recipeDir,
    toolchain,
    workDir: scratch.tree,
    outDir: scratch.out,
    sources: sourceLines(await hostMirrors(env), recipe.suite, recipe.components),
    aptOptions: await hostAptOptions(signal),
  }
  const bootstrap = startBootstrap(plan, (line) => reader.read(line) && report(), signal)
  owned.defer(() => bootstrap.end())
  await bootstrap.ready
  const facts = await readFacts(scratch.out)
  const entries = withMountPoints(readTar(bootstrap.bytes()))
  const kept = owned.move()
  return { recipe, facts, entries, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** Adds /dev, which mmdebstrap omits. Runtimes mount their own there. */
async function* withMountPoints(entries: AsyncIterable<Entry>): AsyncGenerator<Entry> {
  yield { type: 'directory', path: 'dev', mode: 0o755, uid: 0, gid: 0, mtimeSecs: 0, mtimeNanos: 0 }
  yield* entries
}

/**
 * Returns the host's apt options for old mirrors. A host that uses a frozen archive has them in its
 * own apt configuration.
 */
async function hostAptOptions(signal: AbortSignal): Promise<readonly string[]> {
  const names = ['Acquire::Check-Valid-Until', 'Acquire::Check-Date']
  const pairs = names.flatMap((name, index) => [`V${index}`, name])
  const { code, stdout } = await runProgram(['apt-config', 'shell', ...pairs], {
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    signal,
    timeoutMs: 30_000,
  })
  if (code !== 0) return []
  return names.filter((_, index) => stdout.includes(`V${index}='false'`)).map((name) => `${name} "false"`)
}

interface Places {
  readonly assets: string
  readonly out: string
  readonly tree: string
}

/** Makes the parts of the scratch directory. apt's own user has to enter it. */
async function makePlaces(root: string): Promise<Places> {
  await chmod(root, 0o755)
  const places = { assets: join(root, 'assets'), out: join(root, 'out'), tree: join(root, 'tree') }
  for (const dir of Object.values(places)) {
    await mkdir(dir)
    await chmod(dir, 0o755)
  }
  return places
}
