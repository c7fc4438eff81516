import { useEffect, useState } from 'react'
import { useSession } from '../session/session-context.ts'
import { type BuildLog, followLog, unreadLog } from './follow-log.ts'

/** Returns the log of a build from its beginning, and follows it until the build has ended. */
export function useBuildLog(buildId: string): BuildLog {
  const { holt } = useSession()
  const [log, setLog] = useState(unreadLog)
  useEffect(() => {
    const left = new AbortController()
    const { signal } = left
    setLog(unreadLog)
    const read = async () => {
      const build = await holt.builds.get(buildId, { signal })
      await followLog(build.logs({ signal }), { show: setLog, signal })
    }
    read().catch((error: unknown) => {
      if (!signal.aborted) setLog({ ...unreadLog, error })
    })
    return () => left.abort()
  }, [holt, buildId])
  return log
}
