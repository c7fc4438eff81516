import { useEffect, useState } from 'react'
import { useIsAway } from '../service/connection.ts'
import { useSession } from '../session/session-context.ts'
import { type BuildLog, followLog, unreadLog } from './follow-log.ts'

/**
 * Returns the log of a build from its beginning, and follows it until the build has ended. It is
 * read again after the service was away.
 */
export function useBuildLog(buildId: string): BuildLog {
  const { holt } = useSession()
  const isAway = useIsAway()
  const [log, setLog] = useState(unreadLog)
  useEffect(() => {
    if (isAway) return
    const left = new AbortController()
    const { signal } = left
    const read = async () => {
      const build = await holt.builds.get(buildId, { signal })
      await followLog(build.logs({ signal }), { show: setLog, signal })
    }
    read().catch((error: unknown) => {
      if (!signal.aborted) setLog({ ...unreadLog, error })
    })
    return () => left.abort()
  }, [holt, buildId, isAway])
  return log
}
