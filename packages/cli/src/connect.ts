import { Holt, type HoltOptions, type Retry } from '@holt/sdk'
import { fetchOverHttp } from './fetch-over-http.ts'
import { say } from './output/print.ts'
import { printable } from './output/visible.ts'

/**
 * Retries that a person at a terminal does not notice, and that bridge a restart of the service.
 */
const retries = 3

/** A person notices a wait from here on. */
const toldFromMs = 1_000

/** Makes the client that the environment and the state directory name. */
export function connect(options: HoltOptions = {}): Holt {
  return new Holt({ maxRetries: retries, fetch: fetchOverHttp, onRetry: tellOfWait, ...options })
}

/** Says what a command waits for, and for how long. */
function tellOfWait({ error, delayMs }: Retry): void {
  if (delayMs < toldFromMs) return
  const why = error instanceof Error ? error.message : String(error)
  say(`holt: ${printable(why)} Trying again in ${Math.round(delayMs / 1000)} s`)
}
