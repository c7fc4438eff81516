import { type FileInfo, writtenOut } from '@holt/sdk'
import { useRef, useState } from 'react'
import { useFiles } from './files-context.ts'
import { type Saved, saveCollected, savePicker, saveStreamed, TooLargeToCollect } from './save-here.ts'

type Downloaded = Pick<FileInfo, 'path' | 'name' | 'type' | 'size_bytes'>

interface DownloadState {
  readonly isActive: boolean
  readonly bytes: number
  readonly error: unknown
}

const idle: DownloadState = { isActive: false, bytes: 0, error: null }

/** Saves files on the own machine, one at a time. Calls `onTooLarge` for one above the limit. */
export function useDownload(onTooLarge: (file: Downloaded) => void) {
  const { files } = useFiles()
  const [state, setState] = useState(idle)
  const running = useRef<AbortController | null>(null)
  const run = async (file: Downloaded, save: (saved: Saved) => Promise<void>) => {
    const ended = new AbortController()
    running.current = ended
    setState({ ...idle, isActive: true })
    const saved: Saved = {
      path: file.path,
      isTree: file.type === 'directory',
      signal: ended.signal,
      onProgress: (bytes) => setState((before) => ({ ...before, bytes })),
    }
    try {
      await save(saved)
      setState(idle)
    } catch (error) {
      setState({ ...idle, error: ended.signal.aborted || error instanceof TooLargeToCollect ? null : error })
      if (error instanceof TooLargeToCollect) onTooLarge(file)
    } finally {
      ended.abort()
    }
  }
  const collect = (file: Downloaded) => run(file, (saved) => saveCollected(files, nameHere(file), saved))
  const stream = async (file: Downloaded) => {
    try {
      const place = await savePicker()?.({ suggestedName: nameHere(file) })
      if (place !== undefined) await run(file, (saved) => saveStreamed(files, place, saved))
    } catch (error) {
      // The person closed the dialog of the browser.
      if (!(error instanceof DOMException && error.name === 'AbortError')) setState({ ...idle, error })
    }
  }
  return { state, collect, stream, cancel: () => running.current?.abort() }
}

/** Returns the name on the own machine, without characters that hide what kind of file it is. */
function nameHere({ name, type }: Downloaded): string {
  const shown = writtenOut(name).replaceAll('\\', '_') || 'root'
  return type === 'directory' ? `${shown}.tar.gz` : shown
}
