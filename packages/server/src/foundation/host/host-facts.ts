import { z } from 'zod'
import { storedJson } from '../store/stored-json.ts'
import type { HostRow } from '../store/tables.ts'
import type { HostCondition } from './host-condition.ts'

const ClockFact = z.object({ clock_difference_ms: z.number() })

/** Returns the facts that a host stores about itself, with the difference of its clock, as JSON. */
export function withClock(facts: object, { clockDifferenceMs }: HostCondition): string {
  return JSON.stringify({ ...facts, clock_difference_ms: clockDifferenceMs })
}

/** Returns the lead of a host's clock over the database's as it was stored, in milliseconds. */
export function storedClockDifference({ facts_json }: Pick<HostRow, 'facts_json'>): number | null {
  return ClockFact.safeParse(storedJson(facts_json)).data?.clock_difference_ms ?? null
}
