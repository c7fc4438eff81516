import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, open, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { repository } from '../service-process.ts'
import { until } from '../until.ts'
import type { FleetNetwork, Place } from './fleet-network.ts'

/** The time for one script, in milliseconds: much longer than any of them takes. */
const scriptMs = 600_000

/** The parts of a machine. */
interface MachineOptions {
  readonly place: Place
  readonly network: FleetNetwork
  /** The name of the machine. */
  readonly name: string
  /** A directory for the files of the machine. */
  readonly dir: string
  /** The directory that all machines see as `/srv`. */
  readonly shared: string
  /** The directories in which programs are found first. */
  readonly path: readonly string[]
}

/** How a script ended. */
export interface ScriptResult {
  readonly code: number | null
  /** The text of both its streams. */
  readonly output: string
}

/**
 * Gives a machine what belongs to it alone, in its mount namespace: `/etc`, `/run`, `/var/lib`,
 * `/var/log` and the home directory of root.
 */
const setUp = `
hostname "$MACHINE"
mount -t tmpfs tmpfs /run
mkdir -p /run/sshd /run/lock "$DIR"/{etc,lib,log,home,tmp}
cp -a /etc/. "$DIR/etc"
for each in "$DIR/etc:/etc" "$DIR/lib:/var/lib" "$DIR/log:/var/log" "$SHARED:/srv"; do
  mount --bind "\${each%%:*}" "\${each#*:}"
done
sed -i "s|^\\(root:.*:\\)/root:|\\1$DIR/home:|" /etc/passwd
chmod 700 "$DIR/home"
for user in haproxy sshd; do
  grep -q "^$user:" /etc/passwd || echo "$user:x:65533:65533::/nonexistent:/usr/sbin/nologin" >>/etc/passwd
  grep -q "^$user:" /etc/group || echo "$user:x:65533:" >>/etc/group
done
`

/**
 * A machine of a page of the docs: a network namespace with an address of its own, a mount
 * namespace with files of its own, and a name. Its kernel, programs and cgroups are those of this
 * machine. A script that has set variables leaves them to the next one, as a shell does.
 */
export class DocMachine implements AsyncDisposable {
  readonly options: MachineOptions
  readonly #holder: ChildProcess

  private constructor(options: MachineOptions, holder: ChildProcess) {
    this.options = options
    this.#holder = holder
  }

  static async start(options: MachineOptions): Promise<DocMachine> {
    await mkdir(options.dir, { recursive: true, mode: 0o755 })
    // It keeps the namespaces for as long as it runs.
    const net = `--net=/run/netns/${options.network.namespaceOf(options.place)}`
    const holder = spawn('nsenter', [net, 'unshare', '--mount', '--uts', 'sleep', 'infinity'], { stdio: 'ignore' })
    const machine = new DocMachine(options, holder)
    await once(holder, 'spawn')
    await until('the machine has namespaces of its own', async () => (await machine.#inside()).code === 0, 10_000)
    await machine.run(setUp)
    return machine
  }

  /** The state directory of its service, as this machine sees it. */
  get stateDir(): string {
    return join(this.options.dir, 'lib', 'holt')
  }

  /** Runs a script as somebody at the machine would, and returns its output. Throws if it fails. */
  async run(script: string): Promise<string> {
    const { code, output } = await this.attempt(script)
    if (code !== 0) throw new Error(`on ${this.options.name} it failed with ${code}:\n${output}`)
    return output
  }

  /** Runs a script, and returns how it ended. */
  async attempt(script: string): Promise<ScriptResult> {
    const variables = join(this.options.dir, 'variables')
    const shell = `set -eo pipefail; [ ! -e ${variables} ] || . ${variables}\n${script}\nexport -p >${variables}\n`
    return this.#start(['bash', '-c', shell])
  }

  /** Forgets the variables of earlier scripts, as a machine that restarts does. */
  async forgetVariables(): Promise<void> {
    await this.run(`trap 'echo >"${join(this.options.dir, 'variables')}"' EXIT`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#holder, 'exit')
    this.#holder.kill('SIGKILL')
    await ended
  }

  /** Tells if the namespaces are there already: the mount namespace is the last one. */
  async #inside(): Promise<ScriptResult> {
    return this.#start(['sh', '-c', '[ "$(readlink /proc/self/ns/mnt)" != "$OUTSIDE" ]'])
  }

  async #start(command: readonly string[]): Promise<ScriptResult> {
    const { dir, name, shared, path } = this.options
    const enter = ['--target', `${this.#holder.pid}`, '--mount', '--uts', '--net', `--wd=${repository}`, '--']
    // A file, since a service that the script has started keeps what it inherits.
    const outputFile = join(dir, 'output')
    await using written = await open(outputFile, 'w')
    const child = spawn('nsenter', [...enter, ...command], {
      stdio: ['ignore', written.fd, written.fd],
      timeout: scriptMs,
      env: {
        PATH: [...path, process.env.PATH].join(':'),
        HOME: join(dir, 'home'),
        TMPDIR: join(dir, 'tmp'),
        MACHINE: name,
        DIR: dir,
        SHARED: shared,
        OUTSIDE: await readlink('/proc/self/ns/mnt'),
      },
    })
    const [code] = (await once(child, 'exit')) as [number | null]
    return { code, output: await readFile(outputFile, 'utf8') }
  }
}
