import { useEffect, useState } from 'react'

/**
 * Returns the time at which the page came into sight, in milliseconds since 1970; null while nobody
 * sees it.
 */
export function useSeenSince(): number | null {
  const [since, setSince] = useState(() => (isSeen() ? 0 : null))
  useEffect(() => {
    const look = () => setSince(isSeen() ? Date.now() : null)
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [])
  return since
}

function isSeen(): boolean {
  return document.visibilityState === 'visible'
}
