import { useEffect, useEffectEvent, useState } from 'react'
import { useFiles } from './files-context.ts'
import { type ChangedPaths, watchDirectory } from './watch-directory.ts'

interface Watch {
  readonly path: string
  readonly onChange: (paths: ChangedPaths) => void
}

/**
 * Tells the changes in a directory while files are readable, and once when the watch begins.
 * Returns false while changes are not told.
 */
export function useWatch({ path, onChange }: Watch): boolean {
  const { files, isReadable } = useFiles()
  const [isLive, setLive] = useState(false)
  const tell = useEffectEvent(onChange)
  useEffect(() => {
    if (!isReadable) return
    const ended = new AbortController()
    const onStart = () => {
      setLive(true)
      tell(null)
    }
    watchDirectory({ files, path, signal: ended.signal, onStart, onChange: (paths) => tell(paths) })
      .catch(() => {
        // It cannot be watched, or no longer: the page says that it is not live.
      })
      .finally(() => setLive(false))
    return () => ended.abort()
  }, [files, path, isReadable])
  return isLive
}
