import { setTimeout as sleep } from 'node:timers/promises'

/** The number of runtimes of a pool, by state. */
export interface PoolMembers {
  readonly ready: number
  readonly making: number
}

const pollMs = 50
/**
 * The timeout for filling a pool, in milliseconds. A restore takes a third of a second, and a
 * hundred of them half a minute. A busy host may take ten times as long.
 */
const fillTimeoutMs = 10 * 60_000

/**
 * Reads `holt_pool_members` of one template and class from the metrics (Prometheus text format
 * 0.0.4).
 */
export function poolMembers(
  metrics: string,
  pool: { readonly template: string; readonly isolation: string },
): PoolMembers {
  const counts = { ready: 0, making: 0 }
  for (const [, labels = '', value] of metrics.matchAll(/^holt_pool_members\{([^}]*)\} (\S+)$/gm)) {
    const label = (name: string) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1]
    if (label('template') !== pool.template || label('isolation') !== pool.isolation) continue
    const state = label('state')
    if (state === 'ready' || state === 'making') counts[state] += Number(value)
  }
  return counts
}

/** Waits until a pool has `ready` runtimes and is not making more. Rejects after a timeout. */
export async function untilFull(
  read: () => Promise<PoolMembers>,
  { ready, signal }: { readonly ready: number; readonly signal: AbortSignal },
): Promise<void> {
  const deadline = performance.now() + fillTimeoutMs
  for (;;) {
    const members = await read()
    if (members.ready >= ready && members.making === 0) return
    if (performance.now() > deadline)
      throw new Error(`the pool has ${members.ready} of ${ready} runtimes after ${fillTimeoutMs / 60_000} minutes`)
    await sleep(pollMs, undefined, { signal })
  }
}
