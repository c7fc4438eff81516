import { useSyncExternalStore } from 'react'

/** The interval between the tries to reach a service that is away, in milliseconds. */
const retryMs = 1000

let isAway = false
const listeners = new Set<() => void>()

/**
 * Sends a request to the service. If the service cannot be reached, the whole console says so, and
 * tries until it answers again. A proxy says 502 to 504 for a service that restarts behind it.
 */
export const watchedFetch: typeof globalThis.fetch = async (input, init) => {
  try {
    const response = await fetch(input, { ...init, credentials: 'same-origin' })
    if (response.headers.get('x-request-id') === null && response.status >= 502) noteAway()
    return response
  } catch (error) {
    if (init?.signal?.aborted !== true) noteAway()
    throw error
  }
}

/** Returns true while the service cannot be reached. */
export function useIsAway(): boolean {
  return useSyncExternalStore(subscribe, () => isAway)
}

/** Calls a function whenever the service is back. Returns a function that ends this. */
export function onBack(listener: () => void): () => void {
  const look = () => {
    if (!isAway) listener()
  }
  return subscribe(look)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function noteAway(): void {
  if (isAway) return
  setAway(true)
  setTimeout(look, retryMs)
}

async function look(): Promise<void> {
  const answered = await fetch('/healthz').then(
    ({ ok }) => ok,
    () => false, // It is still away, which the banner says.
  )
  if (answered) setAway(false)
  else setTimeout(look, retryMs)
}

function setAway(away: boolean): void {
  isAway = away
  for (const listener of listeners) listener()
}
