import { inject } from 'vitest'
import { ofOwnLane } from './lane.ts'

/** The service under test, as the global set-up hands it to every test file. */
export interface ServiceFacts {
  readonly url: string
  readonly port: number
  /** The admin key. */
  readonly key: string
  readonly stateDir: string
  readonly runDir: string
  readonly installationId: string
  /** Null where the class is available, else why not. */
  readonly unavailable: Readonly<Record<'gvisor' | 'container', string | null>>
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** Of each lane, in their order. */
    services: readonly ServiceFacts[]
  }
}

/** The service under test in this worker. */
export const service: ServiceFacts = ofOwnLane(inject('services'))
