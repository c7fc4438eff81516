import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { BuilderError } from '../errors.ts'
import { endGroup, lastLines } from '../process/run-program.ts'
import type { Recipe } from './recipe.ts'
import type { Toolchain } from './toolchain.ts'

/** The inputs of one run of mmdebstrap. */
export interface BootstrapPlan {
  readonly recipe: Recipe
  readonly recipeDir: string
  readonly toolchain: Toolchain
  /**
   * The directory of the tree while it is made. It is on a disk, and apt's own user can enter it.
   */
  readonly workDir: string
  /** The directory to which the hooks write their results. */
  readonly outDir: string
  /** The lines of a sources.list. If empty, mmdebstrap uses its own. */
  readonly sources: readonly string[]
  /** The apt options of the host on the validity of its mirror. */
  readonly aptOptions: readonly string[]
}

/** Returns the arguments for mmdebstrap, which writes the tar to its standard output. */
export function mmdebstrapArguments(plan: BootstrapPlan): readonly string[] {
  const { recipe, toolchain } = plan
  const packages = [...recipe.packages, ...(toolchain.pythonSource === 'debian' ? recipe.python.fallbackPackages : [])]
  return [
    '--verbose',
    '--mode=root',
    '--variant=apt',
    '--format=tar',
    // Every runtime gets its own /dev. The hooks make and keep /run/holt.
    '--skip=output/dev',
    '--skip=cleanup/run',
    `--components=${recipe.components.join(',')}`,
    `--include=${packages.join(',')}`,
    ...recipe.exclude.map((pattern) => `--dpkgopt=path-exclude=${pattern}`),
    ...recipe.keep.map((pattern) => `--dpkgopt=path-include=${pattern}`),
    ...plan.aptOptions.map((option) => `--aptopt=${option}`),
    ...recipe.hooks.map((name) => `--customize-hook=sh ${shellQuote(join(plan.recipeDir, 'hooks', name))} "$1"`),
    recipe.suite,
    '-',
    ...plan.sources,
  ]
}

/**
 * Returns the whole environment of mmdebstrap and its hooks. The scripts of packages get nothing of
 * the host's own environment.
 */
export function mmdebstrapEnv({ recipe, toolchain, workDir, outDir }: BootstrapPlan): Record<string, string> {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LC_ALL: 'C.UTF-8',
    TMPDIR: workDir,
    HOLT_ASSETS: toolchain.dir,
    HOLT_OUT: outDir,
    HOLT_RECIPE: recipe.name,
    HOLT_RECIPE_VERSION: String(recipe.version),
    HOLT_USER: recipe.user.name,
    HOLT_UID: String(recipe.user.uid),
    HOLT_GID: String(recipe.user.gid),
    HOLT_HOME: recipe.user.home,
    HOLT_SHELL: recipe.user.shell,
    HOLT_WORKDIR: recipe.workdir,
    HOLT_PATH: recipe.env.PATH ?? '',
    HOLT_VIRTUAL_ENV: recipe.env.VIRTUAL_ENV ?? '',
    HOLT_PYTHON: toolchain.pythonPath,
    HOLT_PYTHON_SOURCE: toolchain.pythonSource,
  }
}

/** A running mmdebstrap. */
export interface Bootstrap {
  /** Resolves when the first bytes of the tar are available, which is after the last hook. */
  readonly ready: Promise<void>
  /** Yields the bytes of the tar. Throws at the end if mmdebstrap failed. */
  bytes(): AsyncIterable<Uint8Array>
  /** Ends mmdebstrap if it still runs. */
  end(): Promise<void>
}

const KEPT_LINES = 60

/** Starts mmdebstrap. `onLine` gets each line that it writes. */
export function startBootstrap(plan: BootstrapPlan, onLine: (line: string) => void, signal: AbortSignal): Bootstrap {
  // mmdebstrap ends together with this process, even if that is killed. It then unmounts and
  // removes its tree (PR_SET_PDEATHSIG, prctl(2)).
  const child = spawn('setpriv', ['--pdeathsig', 'TERM', '--', 'mmdebstrap', ...mmdebstrapArguments(plan)], {
    cwd: '/',
    env: mmdebstrapEnv(plan),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const log: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => {
    log.push(line)
    if (log.length > KEPT_LINES) log.shift()
    onLine(line)
  })
  const stop = () => void endGroup(child).catch(() => child.kill('SIGKILL'))
  signal.addEventListener('abort', stop, { once: true })
  const closed = settle(child, log, signal).finally(() => signal.removeEventListener('abort', stop))
  closed.catch(() => undefined) // The caller that awaits `ready` or reads to the end gets the error.
  const readable = once(child.stdout, 'readable').then(async () => {
    // The end of an empty stream is also readable. Then the exit of mmdebstrap has the reason.
    if (child.stdout.readableLength === 0) await closed
  })
  readable.catch(() => undefined)
  return {
    ready: Promise.race([readable, closed.then(() => readable)]),
    bytes: () => readToEnd(child.stdout, closed),
    async end() {
      await endGroup(child)
      await removeKeyrings(plan.workDir)
    },
  }
}

/**
 * Removes the keyrings that mmdebstrap leaves if a signal ends it early: it makes them before it
 * handles signals.
 */
async function removeKeyrings(workDir: string): Promise<void> {
  const left = (await readdir(workDir)).filter((name) => name.startsWith('mmdebstrap.gpghome.'))
  await Promise.all(left.map((name) => rm(join(workDir, name), { recursive: true, force: true })))
}

async function settle(
  child: ChildProcessByStdio<null, Readable, Readable>,
  log: string[],
  signal: AbortSignal,
): Promise<void> {
  const [code] = await once(child, 'exit').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT'
      ? new BuilderError('tool_missing', 'The program setpriv is not installed.', { cause: error })
      : error
  })
  signal.throwIfAborted()
  if (code === 0) return
  const detail = lastLines(log.join('\n'))
  if (code === 127 && log.length === 1 && log[0]?.startsWith('setpriv: failed to execute')) {
    throw new BuilderError('tool_missing', 'The program mmdebstrap is not installed.', { detail })
  }
  const offline = /Could not resolve|Failed to fetch|Unable to connect|Connection (refused|timed out)/.test(
    log.join('\n'),
  )
  throw offline
    ? new BuilderError(
        'source_unreachable',
        'The Debian mirror cannot be reached. Set HOLT_DEBIAN_MIRROR to another mirror.',
        {
          detail,
        },
      )
    : new BuilderError('tool_failed', 'mmdebstrap could not make the tree.', { detail })
}

async function* readToEnd(stdout: Readable, closed: Promise<void>): AsyncGenerator<Uint8Array> {
  for await (const chunk of stdout) yield chunk as Uint8Array
  await closed
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
