import type { BuildStatus, SnapshotKind } from '@holt/protocol'
import { Counter, Histogram, type Registry } from 'prom-client'

/** The form of the answer to a command's start. */
type CommandMode = 'waited' | 'streamed' | 'background'

/** The buckets in seconds, from a cached build to one of an hour. */
const buildBuckets = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600]

/** The buckets in seconds, from a small file system to much memory. */
const snapshotBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]

/** The metrics of clients' work: commands, code, snapshots, builds. */
export class WorkMetrics {
  readonly #commands: Counter
  readonly #runs: Counter
  readonly #snapshots: Histogram
  readonly #builds: Histogram

  constructor(registry: Registry) {
    const registers = [registry]
    this.#commands = new Counter({
      name: 'holt_commands_total',
      help: 'Commands that were asked for, by how their start is answered.',
      labelNames: ['mode'],
      registers,
    })
    this.#runs = new Counter({
      name: 'holt_code_runs_total',
      help: 'Runs of code that were asked for, by how they are answered.',
      labelNames: ['mode'],
      registers,
    })
    this.#snapshots = new Histogram({
      name: 'holt_snapshot_duration_seconds',
      help: 'Time that it took to take a snapshot.',
      labelNames: ['kind', 'result'],
      buckets: snapshotBuckets,
      registers,
    })
    this.#builds = new Histogram({
      name: 'holt_build_duration_seconds',
      help: 'Time that a build took from its turn to its end.',
      labelNames: ['result'],
      buckets: buildBuckets,
      registers,
    })
  }

  noteCommand(mode: CommandMode): void {
    this.#commands.inc({ mode })
  }

  noteCodeRun(mode: Exclude<CommandMode, 'background'>): void {
    this.#runs.inc({ mode })
  }

  noteSnapshot({ kind, result, seconds }: { kind: SnapshotKind; result: 'ready' | 'failed'; seconds: number }): void {
    this.#snapshots.observe({ kind, result }, seconds)
  }

  noteBuild({ result, seconds }: { result: BuildStatus; seconds: number }): void {
    this.#builds.observe({ result }, seconds)
  }
}
