import { Holt } from '@holt/sdk'
import { work } from './client.ts'
import { Stopwatch } from './stopwatch.ts'

/** The number of retries, so that a client waits as long as the service asks. */
const maxRetries = 1_000

/** The timeout of a request, in seconds. A create may wait behind those of all other clients. */
const timeoutSecs = 600

/**
 * Runs clients for a time and prints the result: `main.ts '{"url", "key", "clients", "ms",
 * "classes"}'`.
 */
const { url, key, clients, ms, classes } = JSON.parse(process.argv[2] ?? '{}') as {
  readonly url: string
  readonly key: string
  readonly clients: number
  readonly ms: number
  readonly classes: readonly ('gvisor' | 'container')[]
}

/** The number of times that the service asked to retry later, by status and code. */
const refusals: Record<string, number> = {}

async function counted(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init)
  if (response.status === 429 || response.status === 503) {
    const { error } = (await response.clone().json()) as { error: { code: string } }
    const name = `${response.status} ${error.code}`
    refusals[name] = (refusals[name] ?? 0) + 1
  }
  return response
}

const watch = new Stopwatch()
const over = AbortSignal.timeout(ms)
const startedAt = performance.now()
await Promise.all(
  Array.from({ length: clients }, (_, index) => {
    const holt = new Holt({ url, apiKey: key, fetch: counted, maxRetries, timeoutSecs })
    return work({ holt, isolation: classes[index % classes.length] ?? 'gvisor', watch, over })
  }),
)
const secs = Math.round((performance.now() - startedAt) / 1000)
const { failed, failures } = watch
const outcome = { secs, failed, failures, refusals, operations: watch.figures() }
process.stdout.write(`${JSON.stringify(outcome)}\n`, () => process.exit(0))
