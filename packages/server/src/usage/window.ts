import type { Look } from './sample-ring.ts'

/** A look with the vCPUs that were busy since the one before; null where that cannot be told. */
export interface RatedLook extends Look {
  readonly rate: number | null
}

/**
 * vCPUs that were busy between two looks. A runtime that was resumed between them counts from anew,
 * and there is no rate.
 */
export function rateOf(look: Look, before: Look | null): number | null {
  if (before === null || look.moment <= before.moment || look.cpuUsec < before.cpuUsec) return null
  return (look.cpuUsec - before.cpuUsec) / 1000 / (look.moment - before.moment)
}

/**
 * What was seen since a moment, one look for each step in which there was one: the last, with the
 * most memory of its step, and the rate since the look of the step before. `looks` are oldest
 * first.
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
