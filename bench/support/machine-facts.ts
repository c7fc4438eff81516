import { readFile } from 'node:fs/promises'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { runProgram } from './run-program.ts'

/** Facts about the machine that affect the figures. */
export interface MachineFacts {
  readonly cpus: number
  readonly cpu_model: string
  readonly memory_mib: number
  readonly os: string
  readonly kernel: string
  readonly cgroup: string
  /** The file system of the state directory. */
  readonly file_system: string
  readonly versions: Readonly<Record<string, string>>
}

const toolTimeoutMs = 10_000

/** Reads the facts. The version of a tool is `unknown` if the tool does not print it. */
export async function readMachineFacts(options: {
  readonly repo: string
  readonly stateDir: string
  readonly cgroup: string
  readonly tools: Readonly<Record<string, string | null>>
}): Promise<MachineFacts> {
  const all = cpus()
  const tools = Object.entries(options.tools).filter((tool): tool is [string, string] => tool[1] !== null)
  const toolVersions = await Promise.all(tools.map(async ([name, path]) => [name, await toolVersion(path)] as const))
  const holt = JSON.parse(await readFile(join(options.repo, 'package.json'), 'utf8')) as { version: string }
  return {
    cpus: all.length,
    cpu_model: all[0]?.model ?? 'unknown',
    memory_mib: Math.round(totalmem() / 2 ** 20),
    os: /^PRETTY_NAME="?([^"\n]*)/m.exec(await readFile('/etc/os-release', 'utf8').catch(() => ''))?.[1] ?? 'unknown', // Not every Linux has it.
    kernel: release(),
    cgroup: options.cgroup,
    file_system: await firstLine(['findmnt', '-n', '-o', 'FSTYPE', '-T', options.stateDir]),
    versions: { holt: holt.version, node: process.versions.node, ...Object.fromEntries(toolVersions) },
  }
}

/** Returns the load averages of 1, 5 and 15 minutes. */
export function loadAverage(): readonly number[] {
  return loadavg().map((load) => Number(load.toFixed(2)))
}

async function toolVersion(path: string): Promise<string> {
  const line = await firstLine([path, '--version'])
  return /version\s+(?:release-)?(\S+)/.exec(line)?.[1] ?? line
}

async function firstLine(argv: readonly string[]): Promise<string> {
  try {
    return (await runProgram(argv, { timeoutMs: toolTimeoutMs })).split('\n')[0]?.trim() || 'unknown'
  } catch {
    return 'unknown' // The figures are valid without it.
  }
}
