import { Holt, type HoltOptions, type Retry } from '@holt/sdk'
import { say } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { fetchOverHttp } from './fetch-over-http.ts'

/**
 * The number of retries. A person at a terminal does not notice them, and they bridge a restart of
 * the service.
 */
const retries = 3

/** The shortest wait that is reported, in milliseconds. */
const toldFromMs = 1_000

/** Returns the client for the environment and the state directory. */
export function connect(options: HoltOptions = {}): Holt {
  return new Holt({ maxRetries: retries, fetch: fetchOverHttp, onRetry: tellOfWait, ...options })
}

/** Prints the reason and the length of a wait, and the number of tries that remain. */
function tellOfWait({ error, delayMs, retriesLeft }: Retry): void {
  if (delayMs < toldFromMs) return
  const why = error instanceof Error ? error.message : String(error)
  const again = `Trying again in ${Math.round(delayMs / 1000)} s`
  const last = retriesLeft === 1 ? ', for the last time' : `, at most ${retriesLeft} times`
  say(`holt: ${printable(why)} ${again}${retriesLeft === null ? '' : last}`)
}
