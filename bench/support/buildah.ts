import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram, runProgram, runSilently } from './run-program.ts'

/** The timeout of a build, or of the copy of a whole tree, on a slow disk. */
const verbTimeoutMs = 10 * 60_000

/** A build by buildah. */
export interface BuildahBuild {
  readonly dockerfile: string
  readonly context: string
  readonly args: Readonly<Record<string, string>>
  readonly useCache: boolean
}

/** Buildah with its own storage, which is removed on disposal. */
export class Buildah implements AsyncDisposable {
  readonly #program: string
  readonly #dir: string
  readonly #signal: AbortSignal

  private constructor(program: string, dir: string, signal: AbortSignal) {
    this.#program = program
    this.#dir = dir
    this.#signal = signal
  }

  /** Makes the storage. Returns null if buildah is not installed. */
  static async open(signal: AbortSignal): Promise<Buildah | null> {
    const program = findProgram('buildah')
    if (program === null) return null
    const dir = await mkdtemp(join(tmpdir(), 'holt-bench-buildah-'))
    await mkdir(join(dir, 'root'), { mode: 0o700 })
    return new Buildah(program, dir, signal)
  }

  /** Makes an image of a tree. A Dockerfile can name it. */
  async importTree(rootfs: string, name: string): Promise<void> {
    const container = (await this.#run(['from', '--pull-never', 'scratch'])).trim()
    await this.#run(['copy', '--quiet', container, `${rootfs}/`, '/'])
    await this.#run(['commit', '--quiet', '--rm', container, name])
  }

  /** Builds with as little overhead as possible, for timing. */
  async build({ dockerfile, context, args, useCache }: BuildahBuild): Promise<void> {
    const given = Object.entries(args).map(([name, value]) => `--build-arg=${name}=${value}`)
    const how = ['--isolation=chroot', '--pull=never', '--layers', useCache ? '' : '--no-cache'].filter(
      (one) => one !== '',
    )
    await runSilently(
      [...this.#command('bud'), ...how, ...given, `--file=${dockerfile}`, '--tag=bench-built', context],
      {
        timeoutMs: verbTimeoutMs,
        signal: this.#signal,
      },
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await runProgram(this.#command('rm', '--all'), { timeoutMs: verbTimeoutMs })
    await runProgram(this.#command('rmi', '--all', '--force'), { timeoutMs: verbTimeoutMs })
    await rm(this.#dir, { recursive: true, force: true })
  }

  #run(args: readonly string[]): Promise<string> {
    return runProgram(this.#command(...args), { timeoutMs: verbTimeoutMs, signal: this.#signal })
  }

  #command(...args: readonly string[]): string[] {
    const places = [`--root=${join(this.#dir, 'root')}`, `--runroot=${join(this.#dir, 'run')}`]
    return [this.#program, ...places, '--storage-driver=overlay', ...args]
  }
}
