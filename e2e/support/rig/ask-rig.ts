import { request } from 'node:http'
import type { Arrivals, RigFacts } from './records.ts'

const timeoutMs = 10_000

/** Makes a name of a rig resolve to other addresses from now on. */
export async function pointNameIn(
  rig: Pick<RigFacts, 'controlSocket'>,
  name: string,
  addresses: readonly string[],
): Promise<void> {
  await askRig(rig, 'PUT', ['', name, ...addresses].join('/'))
}

/** Sends a request to the control socket of a rig, and returns the arrivals. */
export function askRig(
  { controlSocket }: Pick<RigFacts, 'controlSocket'>,
  method: string,
  path = '/',
): Promise<Arrivals> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: controlSocket, method, path, timeout: timeoutMs }, (response) => {
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
