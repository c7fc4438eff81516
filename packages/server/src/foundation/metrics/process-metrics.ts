import { readdirSync, readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { pause } from '../async/pause.ts'

/** The interval between measurements of the event loop, in milliseconds. */
const lagSampleMs = 500

/** The buckets in seconds, from a free loop to one that a large answer blocks. */
const lagBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]

/**
 * The metrics of the process. The names are those of the client libraries of Prometheus
 * (https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics).
 */
export class ProcessMetrics {
  readonly #lag: Histogram

  constructor(registry: Registry) {
    const registers = [registry]
    this.#lag = new Histogram({
      name: 'holt_event_loop_lag_seconds',
      help: 'How late a timer of the service was. While it is late, no request is answered.',
      buckets: lagBuckets,
      registers,
    })
    registerCounter(registry, {
      name: 'holt_event_loop_busy_seconds_total',
      help: 'Time that the event loop was not waiting.',
      read: () => performance.eventLoopUtilization().active / 1000,
    })
    registerCounter(registry, {
      name: 'process_cpu_seconds_total',
      help: 'Processor time of the service.',
      read: () => {
        const { user, system } = process.cpuUsage()
        return (user + system) / 1e6
      },
    })
    for (const { name, help, read } of gauges) {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read())
        },
      })
    }
  }

  /** Measures the event loop until the signal is aborted. */
  async keep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const begunAt = performance.now()
      await pause(lagSampleMs, signal)
      if (!signal.aborted) this.#lag.observe(Math.max(0, performance.now() - begunAt - lagSampleMs) / 1000)
    }
  }
}

const gauges: readonly { readonly name: string; readonly help: string; readonly read: () => number }[] = [
  {
    name: 'process_start_time_seconds',
    help: 'When the service was started, in seconds since 1970 UTC.',
    read: () => performance.timeOrigin / 1000,
  },
  {
    name: 'process_resident_memory_bytes',
    help: 'Memory of the service.',
    read: () => process.memoryUsage.rss(),
  },
  {
    name: 'process_heap_bytes',
    help: 'Memory that the objects of the service take.',
    read: () => process.memoryUsage().heapUsed,
  },
  {
    name: 'process_open_fds',
    help: 'Descriptors that are open.',
    read: () => readdirSync('/proc/self/fd').length,
  },
  {
    name: 'process_max_fds',
    help: 'Descriptors that may be open.',
    read: () => maxOpenFiles(readFileSync('/proc/self/limits', 'utf8')),
  },
]

/** Registers a counter whose value is read from elsewhere. */
function registerCounter(
  registry: Registry,
  { name, help, read }: { readonly name: string; readonly help: string; readonly read: () => number },
): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })
}

/** Returns the soft limit from proc_pid_limits(5). */
function maxOpenFiles(limits: string): number {
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1]
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft ?? 0)
}
