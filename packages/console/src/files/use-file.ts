import type { FileVersion } from '@holt/sdk'
import { useQuery } from '@tanstack/react-query'
import { useSession } from '../session/session-context.ts'
import { baseOf } from './file-paths.ts'
import { editableBytes } from './file-text.ts'
import { useFiles } from './files-context.ts'
import { imageBytes, imageType } from './image-type.ts'

/** A file as it was when it was opened. */
export interface OpenedFile {
  readonly version: FileVersion
  /** The time of the read, in milliseconds since 1970. */
  readonly readAt: number
  /** True if only the beginning was read, because the file is larger than what is shown. */
  readonly isCut: boolean
}

/** Returns the most bytes of a file that are read. */
export function mostBytes(path: string): number {
  return imageType(baseOf(path)) === null ? editableBytes : imageBytes
}

/**
 * Reads a file once. Its text may be changed here meanwhile, so it is read again only by a reload
 * of somebody.
 */
export function useFile(path: string) {
  const { session } = useSession()
  const { files, runtimeId, isReadable } = useFiles()
  return useQuery({
    queryKey: [session.key_id, 'file', runtimeId, path],
    queryFn: async ({ signal }): Promise<OpenedFile> => {
      const most = mostBytes(path)
      const version = await files.readVersion(path, { end: most + 1, signal })
      return { version, readAt: Date.now(), isCut: version.bytes.length > most }
    },
    enabled: isReadable,
    staleTime: 'static',
    gcTime: 0,
    // A comparison of the bytes would cost time, and nothing here needs it.
    structuralSharing: false,
  })
}
