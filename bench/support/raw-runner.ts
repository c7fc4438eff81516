import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Isolation } from '@holt/sdk'
import { bareBundleConfig } from './floors/bare-bundle.ts'
import { parseSpawns, type Spawns, spawnCommand } from './floors/spawn-inside.ts'
import type { RawPlace } from './podman.ts'
import { type RawBundle, rawBundleConfig } from './raw-bundle.ts'
import { runProgram, runSilently } from './run-program.ts'

/** The options of a runner. */
export interface RawRunnerOptions {
  readonly isolation: Isolation
  /**
   * True for bundles with only an image, a program and a control group. They are floors, not
   * baselines.
   */
  readonly isBare: boolean
  /** The path of runsc or runc. */
  readonly program: string
  /** A configuration of Holt, from which the raw ones are made. */
  readonly holtConfig: string
  /** The EROFS image of the runtime. */
  readonly image: string
  /** The runner's own directory. */
  readonly scratch: string
  /** The parent of the cgroups of raw runtimes. */
  readonly cgroupParent: string
  readonly signal: AbortSignal
}

/**
 * The timeout of a verb, in milliseconds. It takes tenths of a second, and ten times as long on a
 * busy host.
 */
const verbTimeoutMs = 60_000
const logShown = 500

/**
 * The flags that packages/engine-host passes to runsc, except that of the overlay, which names a
 * directory.
 */
const runscFlags = [
  '--network=none',
  '--host-uds=open',
  '--restore-spec-validation=ignore',
  '--directfs=false',
  '--cpu-num-from-quota',
  '--platform=systrap',
]

/**
 * Runs raw runtimes with runsc or runc as baselines. The bundle is already written, the root is
 * already mounted, and the disk is the host's own file system. The times therefore include only the
 * runner.
 */
export class RawRunner implements AsyncDisposable {
  readonly name: 'runsc' | 'runc'
  /** Its root file system is empty with gVisor, which reads the image itself. */
  readonly place: RawPlace
  readonly #options: RawRunnerOptions
  readonly #flags: readonly string[]
  readonly #log: string
  readonly #started = new Set<string>()
  readonly #mounted: string[] = []

  private constructor(options: RawRunnerOptions) {
    this.#options = options
    this.name = options.isolation === 'gvisor' ? 'runsc' : 'runc'
    this.place = {
      rootfs: join(options.scratch, 'rootfs'),
      scratch: options.scratch,
      cgroupParent: options.cgroupParent,
    }
    this.#log = join(options.scratch, 'log')
    const upper = options.isBare ? 'memory' : `dir=${join(options.scratch, 'disk/upper')}`
    const overlay = `--overlay2=root:${upper}`
    const flags = this.name === 'runsc' ? [...runscFlags, overlay] : []
    this.#flags = [`--root=${join(options.scratch, 'state')}`, `--log=${this.#log}`, ...flags]
  }

  /** Opens a runner and prepares its root. */
  static async open(options: RawRunnerOptions): Promise<RawRunner> {
    const runner = new RawRunner(options)
    for (const dir of ['rootfs', 'state', 'image', 'disk/upper', 'disk/work', 'sockets']) {
      await mkdir(join(options.scratch, dir), { recursive: true, mode: 0o755 })
    }
    try {
      if (runner.name === 'runc') await runner.#mountRoot()
      return runner
    } catch (error) {
      await runner[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Writes the bundle `id` with `args` as its first process. */
  async writeBundle(id: string, args: readonly string[]): Promise<void> {
    const { scratch, holtConfig, cgroupParent, isBare } = this.#options
    const raw: RawBundle = {
      args,
      rootfs: this.place.rootfs,
      upper: join(scratch, 'disk/upper'),
      socketDir: join(scratch, 'sockets'),
      cgroupsPath: `${cgroupParent}/${id}`,
    }
    const full = rawBundleConfig(JSON.parse(await readFile(holtConfig, 'utf8')), raw)
    const config = isBare ? bareBundleConfig(full) : full
    await mkdir(this.#bundle(id), { recursive: true })
    await writeFile(join(this.#bundle(id), 'config.json'), JSON.stringify(config))
  }

  /** Runs the bundle from its start to its end. */
  async run(id: string): Promise<void> {
    await this.#verb(['run', `--bundle=${this.#bundle(id)}`, id])
  }

  /**
   * Takes a checkpoint of a running runtime into the directory `name`, as Holt does. With
   * `leaveRunning` the runtime continues, and otherwise it ends. Only gVisor supports this.
   */
  async checkpoint(id: string, name: string, { leaveRunning }: { readonly leaveRunning: boolean }): Promise<void> {
    await this.dropCheckpoint(name)
    await mkdir(this.#image(name), { recursive: true })
    const flags = [
      `--image-path=${this.#image(name)}`,
      '-compression=none',
      ...(leaveRunning ? ['-leave-running'] : []),
    ]
    await this.#verb(['checkpoint', ...flags, id])
  }

  /** Starts the bundle `id` from a checkpoint. */
  async restore(id: string, name: string): Promise<void> {
    this.#started.add(id)
    await this.#verb(['restore', '--detach', `--bundle=${this.#bundle(id)}`, `--image-path=${this.#image(name)}`, id])
  }

  /** Removes a checkpoint. */
  async dropCheckpoint(name: string): Promise<void> {
    await rm(this.#image(name), { recursive: true, force: true })
  }

  /** Starts the bundle and leaves it running. */
  async createAndStart(id: string): Promise<void> {
    this.#started.add(id)
    await this.#verb(['create', `--bundle=${this.#bundle(id)}`, id])
    await this.#verb(['start', id])
  }

  /** Runs a command in a running runtime. */
  async exec(id: string, argv: readonly string[]): Promise<void> {
    await this.#verb(['exec', id, ...argv])
  }

  /**
   * Spawns `true` inside a running runtime, by a shell that reads the clock. Returns the
   * milliseconds of each.
   */
  async spawnsInside(id: string, asked: Spawns): Promise<readonly number[]> {
    return this.#spawns(asked, ['exec', id, ...spawnCommand(asked)])
  }

  /**
   * Spawns `true` inside a new runtime that ends afterwards, so that it takes no CPU time during
   * other subjects.
   */
  async spawnsInNew(id: string, asked: Spawns): Promise<readonly number[]> {
    await this.writeBundle(id, spawnCommand(asked))
    return this.#spawns(asked, ['run', `--bundle=${this.#bundle(id)}`, id])
  }

  /** Returns the size of a checkpoint in bytes. */
  async checkpointBytes(name: string): Promise<number> {
    const dir = this.#image(name)
    const sizes = (await readdir(dir)).map(async (file) => (await stat(join(dir, file))).size)
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  }

  /** Waits until a file exists in a running runtime. */
  async untilPresent(id: string, path: string): Promise<void> {
    const deadline = performance.now() + verbTimeoutMs
    for (;;) {
      const there = await this.exec(id, ['/usr/bin/test', '-e', path]).then(
        () => true,
        () => false, // The file does not exist yet, or exec itself failed, which the deadline reports.
      )
      if (there) return
      if (performance.now() > deadline) throw new Error(`${path} does not appear in ${id}`)
    }
  }

  /** Ends and removes a runtime. */
  async remove(id: string): Promise<void> {
    await this.#verb(['delete', '--force', id])
    this.#started.delete(id)
  }

  /** Removes all runtimes, mounts and files, also after a failure. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const id of this.#started) {
      await this.#run([this.#options.program, ...this.#flags, 'delete', '--force', id]).catch(() => {
        // It was never made, or is gone.
      })
    }
    for (const point of this.#mounted.toReversed()) await this.#run(['umount', point])
    await rm(this.#options.scratch, { recursive: true, force: true })
  }

  async #mountRoot(): Promise<void> {
    const { scratch, image } = this.#options
    const lower = join(scratch, 'image')
    const layers = `lowerdir=${lower},upperdir=${join(scratch, 'disk/upper')},workdir=${join(scratch, 'disk/work')}`
    await this.#mount('erofs', 'loop,ro,nodev', image, lower)
    await this.#mount('overlay', `${layers},redirect_dir=on,metacopy=off,nodev`, 'holt-bench', this.place.rootfs)
  }

  async #mount(type: string, options: string, source: string, point: string): Promise<void> {
    await this.#run(['mount', '-t', type, '-o', options, source, point])
    this.#mounted.push(point)
  }

  async #verb(verb: readonly string[]): Promise<void> {
    const { program, signal } = this.#options
    try {
      await runSilently([program, ...this.#flags, ...verb], { timeoutMs: verbTimeoutMs, signal })
    } catch (cause) {
      const log = await readFile(this.#log, 'utf8').catch(() => '') // There is no log.
      const last = log.trim().split('\n').at(-1) ?? ''
      throw new Error(`${this.name} ${verb[0]} failed: ${last.slice(-logShown)}`, { cause })
    }
  }

  async #spawns(asked: Spawns, verb: readonly string[]): Promise<readonly number[]> {
    const { program, signal } = this.#options
    const output = await runProgram([program, ...this.#flags, ...verb], { timeoutMs: verbTimeoutMs, signal })
    return parseSpawns(output, asked)
  }

  async #run(argv: readonly string[]): Promise<void> {
    await runProgram(argv, { timeoutMs: verbTimeoutMs })
  }

  #image(name: string): string {
    return join(this.#options.scratch, 'checkpoints', name)
  }

  #bundle(id: string): string {
    return join(this.#options.scratch, 'bundles', id)
  }
}
