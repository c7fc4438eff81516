import { execFile, execFileSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const repository = join(import.meta.dirname, '../../..')
const script = join(repository, 'scripts/kube-lab/kube-lab')
const cache = process.env.KUBE_LAB_CACHE ?? join(homedir(), '.cache/kube-lab')
/** The lab of the tests, beside one that a person may have started. */
const labEnv = { KUBE_LAB_CACHE: cache, KUBE_LAB_DIR: '/tmp/holt-kube-lab', KUBE_LAB_ID: '7', KUBE_LAB_WAIT: '120' }

/** A static shell, from the parts of the lab. */
export const busybox = join(cache, 'bin/busybox')

/** The chart of the service. */
export const chart = join(repository, 'deploy/helm/holt')

/** The usual time of one program, in milliseconds. */
const programMs = 280_000

/** The output of a program, and its exit code. */
export interface Ran {
  readonly code: number
  readonly out: string
}

/** Returns why the chart cannot be rendered here; empty: it can. */
export function lacksHelm(): string {
  return existsSync(join(cache, 'bin/helm')) ? '' : ' (needs scripts/kube-lab/kube-lab build helm)'
}

/** Returns why no cluster can run here; empty: one can. */
export function lacksLab(): string {
  const missing = ['kube', 'helm', 'versitygw', 'containerd'].find((name) => !existsSync(join(cache, 'bin', name)))
  if (missing !== undefined) return ' (needs scripts/kube-lab/kube-lab build, and build s3 helm)'
  if (process.getuid?.() !== 0) return ' (needs root)'
  if (imageFile() === undefined) return ' (needs deploy/image/build)'
  const places = (process.env.PATH ?? '').split(':')
  return places.some((dir) => existsSync(join(dir, 'docker-registry'))) ? '' : ' (needs docker-registry)'
}

/** Returns the archive of the service's image, as deploy/image/build makes it. */
export function imageFile(): string | undefined {
  return globSync('dist/image/holt-*-image-*.tar', { cwd: repository }).map((name) => join(repository, name))[0]
}

/** Runs Helm without a cluster. */
export function helm(...args: string[]): Promise<Ran> {
  return run(join(cache, 'bin/helm'), args)
}

/** Runs a program with further variables. Never rejects: a program that fails has another code. */
export async function run(
  program: string,
  args: readonly string[],
  {
    env = {},
    input,
    timeoutMs = programMs,
  }: {
    readonly env?: Readonly<Record<string, string>>
    readonly input?: string
    /** The time of the program, in milliseconds. */
    readonly timeoutMs?: number
  } = {},
): Promise<Ran> {
  const options = { env: { ...process.env, ...env }, timeout: timeoutMs, maxBuffer: 64 * 2 ** 20 }
  const child = promisify(execFile)(program, [...args], options)
  if (input !== undefined) child.child.stdin?.end(input)
  return child.then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout + stderr }),
    ({ code, stdout = '', stderr = '', message }) => ({ code: Number(code) || 1, out: `${stdout}${stderr}${message}` }),
  )
}

/** A cluster on this machine, with PostgreSQL and S3. */
export interface Lab extends AsyncDisposable {
  /** The variables of `kube-lab env`. */
  readonly env: Readonly<Record<string, string>>
  /** The address at which its pods reach this machine. */
  readonly hostAddress: string
  kubectl(...args: string[]): Promise<Ran>
  /** Runs kubectl, and returns its output. Throws if it fails. */
  asked(...args: string[]): Promise<string>
  apply(...objects: object[]): Promise<void>
  /** Lets the API server check manifests, and changes nothing. Throws if it refuses one. */
  dryRun(manifests: string): Promise<void>
  helm(...args: string[]): Promise<Ran>
  /** Runs a verb of the lab: kill, start, cut, mend, load. Throws if it fails. */
  lab(...args: string[]): Promise<string>
}

/**
 * Starts a cluster of two or three Nodes. Its end leaves no trace on the machine, also if the tests
 * are killed.
 */
export async function startLab(nodes: 2 | 3 = 2): Promise<Lab> {
  const lab = async (...args: string[]) => {
    const { code, out } = await run('bash', [script, ...args], { env: labEnv })
    if (code !== 0) throw new Error(`kube-lab ${args.join(' ')} failed: ${out}`)
    return out
  }
  const downAtExit = () => void execFileSync('bash', [script, 'down'], { env: { ...process.env, ...labEnv } })
  await lab('down')
  process.once('exit', downAtExit)
  await lab('up', '--nodes', String(nodes))
  await lab('s3')
  await lab('postgres')
  const env = variablesOf(await lab('env'))
  const kubectl = (...args: string[]) => run(join(cache, 'bin/kubectl'), args, { env })
  const apply = async (input: string, ...options: string[]) => {
    const { code, out } = await run(join(cache, 'bin/kubectl'), ['apply', ...options, '-f', '-'], { env, input })
    if (code !== 0) throw new Error(`kubectl apply failed: ${out}`)
  }
  return {
    env,
    hostAddress: env.KUBE_LAB_HOST_ADDRESS ?? '',
    kubectl,
    asked: async (...args) => {
      const { code, out } = await kubectl(...args)
      if (code !== 0) throw new Error(`kubectl ${args.join(' ')} failed: ${out}`)
      return out
    },
    apply: (...objects) => apply(objects.map((object) => JSON.stringify(object)).join('\n---\n')),
    dryRun: (manifests) => apply(manifests, '--dry-run=server'),
    helm: (...args) => run(join(cache, 'bin/helm'), args, { env }),
    lab,
    [Symbol.asyncDispose]: async () => {
      await lab('down')
      process.removeListener('exit', downAtExit)
    },
  }
}

/** Reads the lines `export NAME=VALUE ...` of `kube-lab env`, without PATH. */
function variablesOf(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/(?:^export |\s)([A-Z0-9_]+)=(\S+)/gm)].map(
    ([, name = '', value = '']): [string, string] => [name, value],
  )
  return Object.fromEntries(pairs.filter(([name]) => name !== 'PATH'))
}
