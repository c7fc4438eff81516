import { request } from 'node:http'
import { inject } from 'vitest'
import { ofOwnLane } from '../lane.ts'
import type { Arrivals, RigFacts } from './records.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Of each lane, in their order. */
    rigs: readonly RigFacts[]
  }
}

/** The Internet of this worker's tests. */
export const rig: RigFacts = ofOwnLane(inject('rigs'))

const timeoutMs = 10_000

/** Reads the arrivals in the rig since they were last forgotten. */
export function readArrivals(): Promise<Arrivals> {
  return ask('GET')
}

/** Forgets what has arrived. */
export async function forgetArrivals(): Promise<void> {
  await ask('POST')
}

/** Has a name of the rig resolve to other addresses from now on. */
export async function pointName(name: string, addresses: readonly string[]): Promise<void> {
  await ask('PUT', ['', name, ...addresses].join('/'))
}

function ask(method: string, path = '/'): Promise<Arrivals> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: rig.controlSocket, method, path, timeout: timeoutMs }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.once('end', () => resolve(JSON.parse(text) as Arrivals)).once('error', reject)
    })
    asked.once('timeout', () => asked.destroy(new Error('the rig does not answer')))
    asked.once('error', reject)
    asked.end()
  })
}
