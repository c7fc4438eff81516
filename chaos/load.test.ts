import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { byLength } from '@holt/testkit'
import { expect, it } from 'vitest'
import { classes } from '../e2e/support/classes.ts'
import { service } from '../e2e/support/facts.ts'
import { daemonMemory, daemonPid } from '../e2e/support/host.ts'
import { closeConnections } from '../e2e/support/http.ts'
import { nodeBinary } from '../e2e/support/service-process.ts'
import { until } from '../e2e/support/until.ts'
import { short } from './support/length.ts'
import type { OperationFigures } from './support/load/stopwatch.ts'
import { recordResult } from './support/record-result.ts'

const main = fileURLToPath(new URL('support/load/main.ts', import.meta.url))

const clients = short(10, 100)
const workMs = byLength({ short: 10_000, long: 20_000, soak: 600_000 })

/** Before the figures count: the heap and the caches grow to what the work takes, once. */
const warmUpMs = byLength({ short: 3_000, long: 5_000, soak: 60_000 })

/** The time limit for the last runtimes after the load has ended. Each client waits for its own. */
const endMs = 600_000

/** The pause between readings of the daemon: the median of a quarter has some. */
const sampleMs = byLength({ short: 500, long: 1_000, soak: 1_000 })
/** The most by which the daemon's memory may differ between two quarters of the run. */
const flatMiB = 48

interface LoadOutcome {
  readonly secs: number
  readonly failed: number
  readonly failures: readonly string[]
  readonly refusals: Readonly<Record<string, number>>
  readonly operations: Readonly<Record<string, OperationFigures>>
}

it(
  `${clients} clients work for ${workMs / 1000} s without an error, and leave nothing`,
  async () => {
    const pid = daemonPid()
    await load(short(2, 20), warmUpMs)
    closeConnections()
    const before = await settled()
    const memory: number[] = []
    const timer = setInterval(() => memory.push(daemonMemory().nowMiB), sampleMs)
    const outcome = await load(clients, workMs).finally(() => clearInterval(timer))
    const after = await settled()
    const [early, late] = [median(quarter(memory, 1)), median(quarter(memory, 3))]
    recordResult(`load: ${clients} clients`, {
      ...outcome,
      daemon_mib: { early: Math.round(early), late: Math.round(late), peak: Math.round(Math.max(...memory)) },
      descriptors: { before, after },
    })
    expect(daemonPid()).toBe(pid)
    expect(outcome.failures).toEqual([])
    expect(outcome.failed).toBe(0)
    for (const { count } of Object.values(outcome.operations)) expect(count).toBeGreaterThanOrEqual(clients / 2)
    expect(Object.keys(outcome.operations).sort()).toEqual(['copy', 'create', 'delete', 'list', 'read', 'run', 'write'])
    expect(late - early).toBeLessThan(flatMiB)
    expect(after).toBeLessThanOrEqual(before + 4)
  },
  workMs + warmUpMs + 2 * endMs,
)

/** Has clients work in a process of their own. */
async function load(count: number, ms: number): Promise<LoadOutcome> {
  const available = classes.filter((isolation) => service.unavailable[isolation] === null)
  const task = { url: service.url, key: service.key, clients: count, ms, classes: available }
  const child = spawn(nodeBinary(), [main, JSON.stringify(task)], {
    cwd: '/',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: ms + endMs,
    killSignal: 'SIGKILL',
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (code !== 0) throw new Error(`the clients ended with ${code}: ${output}`)
  return JSON.parse(output) as LoadOutcome
}

/** The daemon's descriptors, when their number has stopped to fall. */
async function settled(): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  let same = 0
  await until(
    'the descriptors are closed',
    async () => {
      const now = readdirSync(`/proc/${daemonPid()}/fd`).length
      same = now >= least ? same + 1 : 0
      least = Math.min(least, now)
      return same >= 12
    },
    60_000,
  )
  return least
}

function quarter(values: readonly number[], index: number): readonly number[] {
  const size = Math.max(1, Math.floor(values.length / 4))
  return values.slice(index * size, (index + 1) * size)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
