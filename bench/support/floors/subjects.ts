import type { RawRunner } from '../raw-runner.ts'
import type { Stage } from '../stage.ts'
import { type Operation, reasonOf, type Subject, timed } from '../subject.ts'
import type { PlainServer } from './plain-server.ts'

/** The reasons for the floors that several rows share. */
export const reasons = {
  durable:
    'one HTTP answer of a Node server without routes, after 4 KiB are written and synced; a create that is answered must survive a crash',
  spawn: 'a shell inside starts `true` and waits for it; the kernel of the runtime does this for every command',
  boot: '`runsc create` and `start` of `sleep` without mounts, gofer or disk; no sandbox starts without these processes',
} as const

/** Returns the subject of one floor with one series. */
export function floorSubject(stage: Stage, series: string, operation: () => Promise<unknown>): Subject {
  return {
    series: [series],
    perform: async () => [await timed(series, operation)],
    cpuMs: stage.rawCpuMs,
    background: false,
    isFloor: true,
  }
}

/**
 * Returns the subject of a floor whose time is measured in parts: `measure` returns milliseconds.
 */
export function measuredFloor(
  stage: Stage,
  series: string,
  measure: () => Promise<number | readonly number[]>,
): Subject {
  const perform = async (): Promise<readonly Operation[]> => {
    try {
      return [await measure()].flat().map((ms) => ({ series, ms, error: null }))
    } catch (error) {
      return [{ series, ms: 0, error: reasonOf(error) }]
    }
  }
  return { series: [series], perform, cpuMs: stage.rawCpuMs, background: false, isFloor: true }
}

/**
 * Returns the floor of a command: an empty HTTP answer and a spawn inside `id`. Its CPU time is not
 * reported, because it would include the start of the shell.
 */
export function commandFloor(
  stage: Stage,
  { series, raw, id, clients, each }: { series: string; raw: RawRunner; id: string; clients: number; each: number },
): Subject {
  const measure = async () => {
    const spawns = await raw.spawnsInside(id, { clients, each })
    const answers = await emptyAnswers(stage.plain, { clients, each, signal: stage.signal })
    return spawns.map((ms, index) => ms + (answers[index] ?? Number.NaN))
  }
  return { ...measuredFloor(stage, series, measure), cpuMs: () => null }
}

/** Returns the milliseconds of each empty answer to concurrent clients. */
async function emptyAnswers(
  plain: PlainServer,
  { clients, each, signal }: { clients: number; each: number; signal: AbortSignal },
): Promise<readonly number[]> {
  const client = async () => {
    const times: number[] = []
    for (let done = 0; done < each; done += 1) times.push(await msOf(() => plain.get('/', signal)))
    return times
  }
  return (await Promise.all(Array.from({ length: clients }, client))).flat()
}

/** Returns the duration of an operation in milliseconds. */
export async function msOf(operation: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await operation()
  return performance.now() - startedAt
}
