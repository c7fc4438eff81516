import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { chmod, chown, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { killRuntime } from '../kill-runtime.ts'
import { mainFile, nodeBinary, repository, type Settings } from '../service-process.ts'
import { until } from '../until.ts'
import type { FleetNetwork, Place } from './fleet-network.ts'

/** The time for a start on a slow machine, in milliseconds. */
const startMs = 180_000

/** The port of the service in the namespace of each host. */
const port = 4658

/** The parts of a host that the fleet gives it. */
interface FleetHostOptions {
  readonly place: Place
  readonly network: FleetNetwork
  /** The directory of the host. Its state and its temporary files are below it. */
  readonly dir: string
  /** Settings that all hosts have. */
  readonly settings: Settings
}

/**
 * One host: a real daemon in a network namespace of its own, over a state directory of its own. The
 * processes of its runtimes outlive the daemon, as on a machine.
 */
export class FleetHost {
  readonly place: Place
  readonly stateDir: string
  readonly #options: FleetHostOptions
  #process: ChildProcess | null = null
  /** The options of `nsenter` for the user of the daemon. */
  #as: readonly string[] = []

  constructor(options: FleetHostOptions) {
    this.#options = options
    this.place = options.place
    this.stateDir = join(options.dir, 'state')
  }

  /** The address at which clients reach the service. */
  get url(): string {
    return `http://${this.address}:${port}`
  }

  get address(): string {
    const { network, place } = this.#options
    return network.addressOf(place)
  }

  /** The id of the host in the fleet. */
  get hostId(): string {
    const { host_id } = JSON.parse(readFileSync(join(this.stateDir, 'installation.json'), 'utf8')) as {
      host_id: string
    }
    return host_id
  }

  /** The id of the installation, by which its kernel objects are named. */
  get installationId(): string {
    return (JSON.parse(readFileSync(join(this.stateDir, 'installation.json'), 'utf8')) as { id: string }).id
  }

  /** The key of the machine. */
  get key(): string {
    return (JSON.parse(readFileSync(join(this.stateDir, 'credentials.json'), 'utf8')) as { key: string }).key
  }

  get isRunning(): boolean {
    return this.#process !== null && this.#process.exitCode === null && this.#process.signalCode === null
  }

  /** Starts the daemon, and waits until it is ready. Throws with the end of its log. */
  async start(more: Settings = {}): Promise<void> {
    this.begin(more)
    await this.ready()
  }

  /** Gives the state directory to a user without privileges, as whom the daemon then starts. */
  async dropPrivileges(uid: number): Promise<void> {
    const { dir } = this.#options
    await chmod(join(dir, '..'), 0o711)
    await chmod(dir, 0o711)
    for (const name of [this.stateDir, join(dir, 'tmp')]) {
      await chown(name, uid, uid)
      for (const file of await readdir(name, { recursive: true })) await chown(join(name, file), uid, uid)
    }
    this.#as = ['--setuid', String(uid), '--setgid', String(uid)]
  }

  /** Starts the daemon. The caller waits for `ready`, or for its end. */
  begin(more: Settings = {}): void {
    const { dir, network, place } = this.#options
    const log = openSync(this.#logFile, 'a', 0o600)
    writeFileSync(this.#clockFile, '0', { flag: 'a' })
    const clock = join(repository, 'e2e', 'support', 'shifted-clock.mjs')
    const namespace = `--net=/run/netns/${network.namespaceOf(place)}`
    const node = ['--max-semi-space-size=8', `--import=${clock}`, mainFile, 'serve']
    // Unlike `ip netns exec`, it leaves the mounts alone: the daemon needs the cgroups of /sys.
    this.#process = spawn('nsenter', [namespace, ...this.#as, nodeBinary(), ...node], {
      cwd: '/',
      stdio: ['ignore', log, log],
      env: { ...this.#environment(), TMPDIR: join(dir, 'tmp'), HOLT_E2E_CLOCK: this.#clockFile, ...more },
    })
  }

  /** Waits until the daemon is ready. */
  async ready(): Promise<void> {
    const isReady = async () => {
      if (!this.isRunning) throw new Error('holtd has exited')
      const answer = await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(5_000) }).catch(() => null) // Not listening yet.
      return answer?.status === 200
    }
    await until(`${this.place} is ready`, isReady, startMs).catch((cause: unknown) => {
      throw new Error(`${this.place} is not ready; its log ends:\n${this.log()}`, { cause })
    })
  }

  /** Runs a verb of the daemon's program on this host, and returns its output. */
  async run(verb: readonly string[], more: Settings = {}): Promise<string> {
    const { network, place } = this.#options
    const namespace = `--net=/run/netns/${network.namespaceOf(place)}`
    const child = spawn('nsenter', [namespace, nodeBinary(), mainFile, ...verb], {
      cwd: '/',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...this.#environment(), ...more },
      timeout: startMs,
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`holtd ${verb.join(' ')} on ${place} failed with ${code}: ${output}`)
    return output
  }

  /** Makes the directories of the host. */
  async prepare(): Promise<void> {
    await mkdir(this.stateDir, { recursive: true, mode: 0o700 })
    await mkdir(join(this.#options.dir, 'tmp'), { recursive: true, mode: 0o700 })
  }

  /** Ends the daemon by `kill -9`. Its runtimes continue. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Ends the daemon and all processes of its runtimes at once. Its disk stays. */
  async powerOff(): Promise<void> {
    await this.kill()
    for (const id of readdirSync(join(this.stateDir, 'runtimes'))) await killRuntime(id, this.installationId)
  }

  /** Stops the daemon in order. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM')
  }

  /** Stops the process of the daemon (SIGSTOP). It may later believe that no time has passed. */
  freeze(): void {
    this.#process?.kill('SIGSTOP')
  }

  thaw(): void {
    this.#process?.kill('SIGCONT')
  }

  /** Sets the wall clock of the daemon apart from that of the machine. */
  shiftClock(ms: number): void {
    writeFileSync(this.#clockFile, String(ms))
    this.#process?.kill('SIGUSR2')
  }

  /** Waits until the daemon has ended by itself. */
  async ended(timeoutMs = startMs): Promise<void> {
    await until(`the daemon of ${this.place} has ended`, async () => !this.isRunning, timeoutMs)
  }

  /** Returns the last lines of the daemon's log. */
  log(lines = 30): string {
    return existsSync(this.#logFile)
      ? readFileSync(this.#logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n')
      : ''
  }

  get #logFile(): string {
    return join(this.#options.dir, 'holtd.log')
  }

  get #clockFile(): string {
    return join(this.#options.dir, 'clock')
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#process
    if (child === null || !this.isRunning) return
    const exited = once(child, 'exit')
    child.kill(signal)
    if (signal === 'SIGTERM') child.kill('SIGCONT')
    await exited
  }

  #environment(): NodeJS.ProcessEnv {
    const { settings } = this.#options
    return {
      ...process.env,
      HOLT_STATE_DIR: this.stateDir,
      HOLT_HOST: this.address,
      HOLT_PORT: String(port),
      HOLT_ALLOW_REMOTE: '1',
      HOLT_PEER_ADDRESS: this.address,
      HOLT_LOG_LEVEL: 'info',
      HOLT_POOL_MAX: '0',
      ...settings,
    }
  }
}
