import { inject } from 'vitest'
import { ofOwnLane } from '../lane.ts'
import { askRig, pointNameIn } from './ask-rig.ts'
import type { Arrivals, RigFacts } from './records.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Of each lane, in their order. */
    rigs: readonly RigFacts[]
  }
}

/** The Internet of this worker's tests. */
export const rig: RigFacts = ofOwnLane(inject('rigs'))

/** Reads the arrivals in the rig since they were last forgotten. */
export function readArrivals(): Promise<Arrivals> {
  return askRig(rig, 'GET')
}

/** Forgets what has arrived. */
export async function forgetArrivals(): Promise<void> {
  await askRig(rig, 'POST')
}

/** Has a name of the rig resolve to other addresses from now on. */
export function pointName(name: string, addresses: readonly string[]): Promise<void> {
  return pointNameIn(rig, name, addresses)
}
