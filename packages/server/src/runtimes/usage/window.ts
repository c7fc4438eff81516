import type { Look } from './sample-ring.ts'

/** A measurement with the average number of busy vCPUs since the one before. Null if unknown. */
export interface RatedLook extends Look {
  readonly rate: number | null
}

/**
 * Returns the average number of busy vCPUs between two measurements. After a resume the counter
 * starts again, and there is no rate.
 */
export function rateOf(look: Look, before: Look | null): number | null {
  if (before === null || look.moment <= before.moment || look.cpuUsec < before.cpuUsec) return null
  return (look.cpuUsec - before.cpuUsec) / 1000 / (look.moment - before.moment)
}

/**
 * Returns one measurement per step since a moment, for steps that have one. It is the last one,
 * with the step's maximum of memory and the rate since the step before. `looks` are oldest first.
 */
export function windowOf(
  looks: readonly Look[],
  { sinceMoment, stepMs }: { readonly sinceMoment: number; readonly stepMs: number },
): readonly RatedLook[] {
  const shown: RatedLook[] = []
  let before: Look | null = null
  for (const step of groupByStep(looks, stepMs)) {
    const last = step.at(-1)
    if (last === undefined) continue
    const memoryBytes = Math.max(...step.map((look) => look.memoryBytes))
    if (last.moment >= sinceMoment) shown.push({ ...last, memoryBytes, rate: rateOf(last, before) })
    before = last
  }
  return shown
}

function groupByStep(looks: readonly Look[], stepMs: number): Iterable<readonly Look[]> {
  return Map.groupBy(looks, ({ moment }) => Math.floor(moment / stepMs)).values()
}
