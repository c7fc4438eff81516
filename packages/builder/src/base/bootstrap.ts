import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { BuilderError } from '../errors.ts'
import { endGroup, lastLines } from '../process/run-command.ts'
import type { Recipe } from './recipe.ts'
import type { Toolchain } from './toolchain.ts'

/** What one run of mmdebstrap needs. */
export interface BootstrapPlan {
  readonly recipe: Recipe
  readonly recipeDir: string
  readonly toolchain: Toolchain
  /** Where the tree stands while it is made: on a disk, and open to apt's own user. */
  readonly workDir: string
  /** Where the hooks leave what they have to tell. */
  readonly outDir: string
  /** Lines of a sources.list; none means mmdebstrap's own. */
  readonly sources: readonly string[]
  /** apt options of the host that say how far its mirror is believed. */
  readonly aptOptions: readonly string[]
}

/** The arguments for mmdebstrap; the tar goes to its standard output. */
export function mmdebstrapArguments(plan: BootstrapPlan): readonly string[] {
  const { recipe, toolchain } = plan
  const packages = [...recipe.packages, ...(toolchain.pythonSource === 'debian' ? recipe.python.fallbackPackages : [])]
  return [
    '--verbose',
    '--mode=root',
    '--variant=apt',
    '--format=tar',
    // Every runtime gets its own /dev; the hooks make and keep /run/holt.
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
 * The whole environment of mmdebstrap and its hooks: nothing of the host's own reaches a package's
 * scripts.
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
  /** Resolves when the first bytes of the tar are there, which is after the last hook. */
  readonly ready: Promise<void>
  /** The tar; throws at its end if mmdebstrap failed. */
  bytes(): AsyncIterable<Uint8Array>
  /** Ends mmdebstrap if it still runs. */
  end(): Promise<void>
}

const KEPT_LINES = 60

/** Starts mmdebstrap; `onLine` sees each line it writes. */
export function startBootstrap(plan: BootstrapPlan, onLine: (line: string) => void, signal: AbortSignal): Bootstrap {
  // Killed or not, this process takes mmdebstrap with it, which then unmounts and removes its tree
  // (PR_SET_PDEATHSIG, prctl(2)).
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
  closed.catch(() => undefined) // told to whoever awaits `ready` or reads to the end
  const readable = once(child.stdout, 'readable').then(async () => {
    // The end of an empty stream is readable as well: then mmdebstrap says why.
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
 * Removes the keyrings of a mmdebstrap that a signal ended before it could: it makes them before it
 * listens for signals.
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
    ? new BuilderError('source_unreachable', 'The Debian mirror cannot be reached; HOLT_DEBIAN_MIRROR names another.', {
        detail,
      })
    : new BuilderError('tool_failed', 'mmdebstrap could not make the tree.', { detail })
}

async function* readToEnd(stdout: Readable, closed: Promise<void>): AsyncGenerator<Uint8Array> {
  for await (const chunk of stdout) yield chunk as Uint8Array
  await closed
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
