import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { service } from '../../e2e/support/facts.ts'

/** The time after which a request without an answer counts as hung, in milliseconds. */
const hungMs = 30_000

/** The pause between two requests, in milliseconds, so that the measurement adds little load. */
const pauseMs = 20

/** A request that a bystander repeats. Its answer has status 200. */
export interface Asked {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly key: string
  /** A body to send as JSON. Absent: the request has no body. */
  readonly json?: object
}

/** Sends a request repeatedly while `goesOn`. Returns the sorted durations in milliseconds. */
export async function timesOf(asked: Asked, goesOn: (runs: number) => boolean): Promise<readonly number[]> {
  const times: number[] = []
  while (goesOn(times.length)) {
    const startedAt = performance.now()
    await ask(asked)
    times.push(performance.now() - startedAt)
    await sleep(pauseMs)
  }
  return times.toSorted((a, b) => a - b)
}

/**
 * Sends a request over a new connection. Retries if the connection is refused or cut, as any client
 * does. The time includes retries.
 */
async function ask(asked: Asked): Promise<void> {
  const what = `${asked.method} ${asked.path}`
  const late = AbortSignal.timeout(hungMs)
  for (;;) {
    const status = await send(asked, late)
    if (status === 200) return
    if (late.aborted) throw new Error(`${what} was not answered within ${hungMs} ms`)
    if (status !== null) throw new Error(`${what} was answered ${status}`)
    await sleep(50)
  }
}

/** Returns the status of the answer; null if there was none. */
function send({ method, path, key, json }: Asked, signal: AbortSignal): Promise<number | null> {
  const body = json === undefined ? '' : JSON.stringify(json)
  const sized = json === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }
  return new Promise((resolve) => {
    const outgoing = request(service.url + path, {
      method,
      agent: false,
      signal,
      headers: { authorization: `Bearer ${key}`, ...sized },
    })
    outgoing.once('error', () => resolve(null))
    outgoing.once('response', (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
      answer.once('error', () => resolve(null))
    })
    outgoing.end(body)
  })
}

/** Returns a quantile of sorted times. */
export function quantile(times: readonly number[], part: number): number {
  return times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? Number.NaN
}

/**
 * Returns the time within which 95 of 100 requests were answered. With few requests, it is the
 * second longest.
 */
export function most(times: readonly number[]): number {
  return Math.min(quantile(times, 0.95), times.at(-2) ?? Number.NaN)
}

/** Returns the figures of sorted times, in milliseconds with one decimal. */
export function figuresOf(times: readonly number[]): Readonly<Record<'p50' | 'p95' | 'max', number>> {
  const round = (value: number) => Math.round(value * 10) / 10
  return { p50: round(quantile(times, 0.5)), p95: round(quantile(times, 0.95)), max: round(quantile(times, 1)) }
}
