import type { Runtime } from '@holt/sdk'
import { reasons } from '../support/floors/subjects.ts'
import type { RawRunner } from '../support/raw-runner.ts'
import { compare, floorOf, onFloor, type SeriesReport, seriesReports, type Verdict } from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { cpuTimed, type Operation, type Subject } from '../support/subject.ts'
import type { RowOptions } from './row.ts'

const defaultRounds = 20
/** The commands of a round, and the spawns, one after the other. */
const commandsOfRound = 10
const spawnsOfRound = 50
const atMost = 1.5

const kinds = ['booted', 'restored'] as const
type Kind = (typeof kinds)[number]

const nameOf = (kind: Kind) => `CPU time of a command in the sandbox, ${kind}`
const spawnName = 'CPU time of a spawn inside'

/**
 * Measures the CPU time of a command in a booted and in a restored runtime of class gvisor. Beside
 * it is the time of a spawn in a raw runtime. Only the sandboxes count, not the daemon.
 */
export async function commandCpu(
  stage: Stage,
  { rounds }: RowOptions,
  { raw, id }: { readonly raw: RawRunner; readonly id: string },
): Promise<{ readonly series: readonly SeriesReport[]; readonly verdicts: readonly Verdict[] }> {
  await using booted = await idleRuntime(stage)
  await using restored = await idleRuntime(stage)
  await restored.pause({ signal: stage.signal })
  await restored.resume({ signal: stage.signal })
  const subjects = [
    commandSubject(stage, booted, 'booted'),
    commandSubject(stage, restored, 'restored'),
    spawnSubject(stage, raw, id),
  ]
  const length = { rounds: rounds ?? defaultRounds, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }
  const series = seriesReports(await stage.batch('CPU time of commands', subjects, length))
  const floor = floorOf(series, spawnName, reasons.spawn)
  const verdicts = kinds.map((kind) =>
    onFloor(compare(series, { what: nameOf(kind), subject: nameOf(kind), baseline: spawnName, atMost }), floor),
  )
  return { series, verdicts }
}

/** The note about these series. */
export const commandCpuNote = `A series named "CPU time" has CPU milliseconds of the sandbox in place of durations: those of each of ${commandsOfRound} commands, and of ${spawnsOfRound} spawns by one shell without the shell's own start. The restored runtime was paused and resumed.`

/** Makes a runtime of the default template, which boots. */
async function idleRuntime({ holt, signal }: Stage): Promise<Runtime> {
  return holt.runtimes.create({ isolation: 'gvisor' }, { signal })
}

function commandSubject(stage: Stage, runtime: Runtime, kind: Kind): Subject {
  const series = nameOf(kind)
  const command = async () => {
    const { exit_code } = await runtime.commands.run(['/bin/true'], { signal: stage.signal })
    if (exit_code !== 0) throw new Error(`true ended with ${exit_code}`)
  }
  return {
    series: [series],
    // An idle runtime is frozen, and the first command thaws it.
    prepare: command,
    perform: async () => [
      await cpuTimed({
        series,
        cpuMs: stage.runtimesCpuMs,
        count: commandsOfRound,
        operation: async () => {
          for (let done = 0; done < commandsOfRound; done += 1) await command()
        },
      }),
    ],
    cpuMs: () => null,
    background: false,
  }
}

/** Returns the subject of a spawn. A shell that spawns nothing is subtracted. */
function spawnSubject(stage: Stage, raw: RawRunner, id: string): Subject {
  const shell = async (each: number): Promise<Operation> => {
    const operation = () => raw.spawnsInside(id, { clients: 1, each })
    return cpuTimed({ series: spawnName, cpuMs: () => stage.rawRuntimeCpuMs(id), operation })
  }
  return {
    series: [spawnName],
    perform: async () => {
      const [alone, spawning] = [await shell(0), await shell(spawnsOfRound)]
      return [{ ...spawning, ms: (spawning.ms - alone.ms) / spawnsOfRound, error: alone.error ?? spawning.error }]
    },
    cpuMs: () => null,
    background: false,
  }
}
