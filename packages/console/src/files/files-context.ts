import type { Files } from '@holt/sdk'
import { createContext, useContext } from 'react'

/** The files of the runtime whose page is shown. */
interface FilesOfRuntime {
  readonly files: Files
  readonly runtimeId: string
  /**
   * True while the runtime runs and the page is in sight. A request for files would resume a paused
   * runtime, and an open one keeps it from its pause without use.
   */
  readonly isReadable: boolean
  /** True if the key of the session may change files. */
  readonly mayWrite: boolean
}

/** The context of the files. It has a value below `FilesTab`. */
export const FilesContext = createContext<FilesOfRuntime | null>(null)

/** Returns the files of the runtime whose page is shown. */
export function useFiles(): FilesOfRuntime {
  const context = useContext(FilesContext)
  if (context === null) throw new Error('this part of the console is in the tab of files')
  return context
}
