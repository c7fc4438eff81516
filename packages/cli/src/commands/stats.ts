import { setTimeout as sleep } from 'node:timers/promises'
import type { Holt, Runtime, RuntimeMetrics } from '@holt/sdk'
import { type Command, InvalidArgumentError } from 'commander'
import { findRuntime } from '../arguments/find-runtime.ts'
import { connect } from '../connection/connect.ts'
import { LiveRegion } from '../output/live-region.ts'
import { print, printJson, say } from '../output/print.ts'
import { bytes, type Column, tableLines } from '../output/table.ts'
import { act } from '../verb/verb.ts'

interface StatsOptions {
  readonly follow?: boolean
  readonly interval: number
  readonly json?: boolean
}

/** The name and the usage of a runtime. */
interface Line {
  readonly name: string | null
  readonly metrics: RuntimeMetrics
}

const examples = `
CPU is in vCPUs, the average since the last reading. Processes of a paused or frozen runtime are not counted.

Examples:
  holt stats
  holt stats mine --follow
  holt stats --json | jq -r '.data[] | [.runtime_id, .now.memory.used_bytes] | @tsv'`

/** Adds `holt stats`, which shows the usage of runtimes. */
export function addStats(program: Command): void {
  const command = program
    .command('stats')
    .description('show the usage of runtimes: processor, memory, disk, processes, network')
    .argument('[runtime...]', 'id, beginning of an id, or name (default: all running ones)')
    .option('-f, --follow', 'continue until Ctrl-C')
    .option('-i, --interval <seconds>', 'the time between readings', seconds, 2)
    .option('--json', 'print the list as JSON; with --follow one line for each reading')
    .addHelpText('after', examples)
  act(command, async (names: string[], { follow = false, interval, json = false }: StatsOptions) => {
    const holt = connect()
    const live = follow && process.stdout.isTTY ? new LiveRegion(process.stdout) : null
    let titled = false
    for (;;) {
      const lines = await readAll(holt, names)
      if (json) follow ? print(JSON.stringify(listOf(lines))) : printJson(listOf(lines))
      else if (lines.length === 0 && !follow) say('No runtimes run.')
      else if (live !== null) live.draw(tableLines(lines, columns))
      else {
        // Each reading has its own widths. The titles are printed only once.
        for (const line of tableLines(lines, columns).slice(titled ? 1 : 0)) print(line)
        titled = true
      }
      if (!follow) return 0
      await sleep(interval * 1000)
    }
  })
}

const columns: readonly Column<Line>[] = [
  ['RUNTIME', ({ metrics }) => metrics.runtime_id],
  ['NAME', ({ name }) => name ?? ''],
  ['STATE', ({ metrics }) => metrics.state],
  ['CPU', ({ metrics: { now, limits } }) => (now?.cpu.rate == null ? '' : `${now.cpu.rate.toFixed(2)}/${limits.cpu}`)],
  ['MEMORY', ({ metrics: { now, limits } }) => shareOf(now?.memory, limits.memory_bytes)],
  ['DISK', ({ metrics: { now, limits } }) => shareOf(now?.disk, limits.disk_bytes)],
  ['PROCESSES', ({ metrics: { now } }) => String(now?.processes ?? '')],
  ['SENT', ({ metrics: { now } }) => (now === null ? '' : bytes(now.network.sent_bytes))],
  ['RECEIVED', ({ metrics: { now } }) => (now === null ? '' : bytes(now.network.received_bytes))],
]

function shareOf(part: { readonly used_bytes: number } | undefined, limit: number): string {
  return part === undefined ? '' : `${bytes(part.used_bytes)}/${bytes(limit)}`
}

function listOf(lines: readonly Line[]) {
  return { data: lines.map(({ metrics }) => metrics), next_cursor: null }
}

/**
 * Reads the usage. Without names, a runtime that ends meanwhile is left out. A named runtime must
 * exist.
 */
async function readAll(holt: Holt, names: readonly string[]): Promise<readonly Line[]> {
  if (names.length > 0) return Promise.all(names.map(async (name) => lineOf(await findRuntime(holt, name))))
  const runtimes = await holt.runtimes.list({ state: 'running', limit: 100 }).all()
  const nameOf = new Map<string, string | null>(runtimes.map(({ runtime_id, name }) => [runtime_id, name]))
  const all = await holt.runtimes.metrics({ limit: 100 }).all()
  return all
    .filter(({ runtime_id }) => nameOf.has(runtime_id))
    .map((metrics) => ({ name: nameOf.get(metrics.runtime_id) ?? null, metrics }))
}

async function lineOf(runtime: Runtime): Promise<Line> {
  return { name: runtime.name, metrics: await runtime.metrics() }
}

function seconds(text: string): number {
  const value = Number(text)
  if (!(value >= 0.5 && value <= 3600)) throw new InvalidArgumentError('must be from 0.5 to 3600 seconds')
  return value
}
