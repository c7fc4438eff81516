import { Holt, type HoltOptions } from '@holt/sdk'
import { fetchOverHttp } from './fetch-over-http.ts'

/** Retries that a person at a terminal does not notice, and that bridge a restart of the service. */
const retries = 3

/** Makes the client that the environment and the state directory name. */
export function connect(options: HoltOptions = {}): Holt {
  return new Holt({ maxRetries: retries, fetch: fetchOverHttp, ...options })
}
