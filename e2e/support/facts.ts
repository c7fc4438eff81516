import { inject } from 'vitest'

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
    service: ServiceFacts
  }
}

/** The service under test. */
export const service: ServiceFacts = inject('service')
