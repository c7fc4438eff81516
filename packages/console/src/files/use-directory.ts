import { type FileInfo, type Files, HoltApiError } from '@holt/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { useSession } from '../session/session-context.ts'
import { useFiles } from './files-context.ts'
import { useWatch } from './use-watch.ts'
import type { ChangedPaths } from './watch-directory.ts'

/** The maximum number of entries of a directory that are shown. */
export const mostEntries = 50_000

/** The entries in one answer, which is the most that the service gives. */
const pageEntries = 10_000

/** More changes than this at once are read as a new list. */
const mostReads = 20

/** The least time between two lists because of changes, in milliseconds. */
const leastListMs = 1_000

/** A list takes at most this share of the time while a directory changes. */
const listShare = 0.2

/** The entries of a directory. */
interface Directory {
  readonly entries: readonly FileInfo[]
  /** True if there are more than `mostEntries`. */
  readonly isCut: boolean
}

/** Returns the key of the query of a directory. */
function directoryKey(keyId: string, runtimeId: string, path: string): readonly string[] {
  return [keyId, 'files', runtimeId, path]
}

/** Returns the entries of a directory, and follows their changes. */
export function useDirectory(path: string) {
  const { session } = useSession()
  const { files, runtimeId, isReadable } = useFiles()
  const queries = useQueryClient()
  const key = directoryKey(session.key_id, runtimeId, path)
  const listedMs = useRef({ at: 0, took: 0 })
  const pending = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const query = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => {
      const began = performance.now()
      const listed = await list(files, path, signal)
      listedMs.current = { at: performance.now(), took: performance.now() - began }
      return listed
    },
    enabled: isReadable,
  })
  const listSoon = () => {
    if (pending.current !== undefined) return
    const { at, took } = listedMs.current
    const waitMs = Math.max(0, at + Math.max(leastListMs, took / listShare) - performance.now())
    pending.current = setTimeout(() => {
      pending.current = undefined
      void queries.invalidateQueries({ queryKey: key, exact: true })
    }, waitMs)
  }
  const onChange = (paths: ChangedPaths) => {
    const inside = paths === null ? null : [...paths].filter((each) => each !== path)
    if (inside === null || inside.length > mostReads) return listSoon()
    void read(inside).catch(listSoon)
  }
  const read = async (paths: readonly string[]) => {
    const found = await Promise.all(paths.map((each) => files.stat(each).catch(onlyMissing)))
    queries.setQueryData<Directory>(key, (before) => before && changed(before, paths, found))
  }
  const isLive = useWatch({ path, onChange })
  return { ...query, isLive, refresh: () => void query.refetch() }
}

async function list(files: Files, path: string, signal: AbortSignal): Promise<Directory> {
  const entries: FileInfo[] = []
  for await (const entry of files.list(path, { signal, limit: pageEntries })) {
    if (entries.length === mostEntries) return { entries, isCut: true }
    entries.push(entry)
  }
  return { entries, isCut: false }
}

/** Returns null for a file that is gone. */
function onlyMissing(error: unknown): null {
  if (error instanceof HoltApiError && error.code === 'path_not_found') return null
  throw error
}

function changed(before: Directory, paths: readonly string[], found: readonly (FileInfo | null)[]): Directory {
  const gone = new Set(paths)
  const kept = before.entries.filter(({ path, path_base64 }) => path_base64 !== undefined || !gone.has(path))
  return { ...before, entries: [...kept, ...found.filter((file) => file !== null)] }
}
