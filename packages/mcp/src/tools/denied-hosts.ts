import { HoltError, type Runtime } from '@holt/sdk'

/** The maximum number of destinations of a note. */
const maxHosts = 5

/** The longest time to read the log of the network, in milliseconds. It is only for advice. */
const logTimeoutMs = 5_000

/**
 * Returns a note on the connections that the network policy denied since a time. Returns an empty
 * text if there were none, if the runtime has no policy, or if the log cannot be read.
 */
export async function deniedHosts(runtime: Runtime, since: string, signal: AbortSignal): Promise<string> {
  if (runtime.network_policy === null) return ''
  const hosts = new Set<string>()
  try {
    const ends = AbortSignal.any([signal, AbortSignal.timeout(logTimeoutMs)])
    for await (const item of runtime.network.log({ denied: true, since, signal: ends }))
      if ('rule' in item) hosts.add(`${item.name ?? item.address ?? '?'}${item.port === null ? '' : `:${item.port}`}`)
  } catch (error) {
    signal.throwIfAborted()
    // The command's own failure is what counts. This is advice on it.
    if (error instanceof HoltError || (error as Error).name === 'TimeoutError') return ''
    throw error
  }
  if (hosts.size === 0) return ''
  const named = [...hosts].slice(0, maxHosts).join(', ')
  const others = hosts.size > maxHosts ? ` and ${hosts.size - maxHosts} more` : ''
  return `[The network policy denied ${named}${others}. suggest_network_policy lists the rules that are missing.]`
}
