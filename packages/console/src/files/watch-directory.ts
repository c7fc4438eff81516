import type { Files, WatchItem } from '@holt/sdk'

/** The time for which changes are collected before they are told, in milliseconds. */
const collectMs = 250

/** The names in a directory that have changed. Null stands for more than can be told one by one. */
export type ChangedPaths = ReadonlySet<string> | null

interface Watching {
  readonly files: Files
  readonly path: string
  readonly signal: AbortSignal
  /** Called when changes are reported from now on. */
  readonly onStart: () => void
  readonly onChange: (paths: ChangedPaths) => void
}

/** Tells the changes in a directory until the signal. Rejects if the watch breaks. */
export async function watchDirectory({ files, path, signal, onStart, onChange }: Watching): Promise<void> {
  let changed: Set<string> | null = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const tell = () => {
    timer = undefined
    const told = changed
    changed = new Set()
    onChange(told)
  }
  try {
    for await (const item of files.watch(path, { signal })) {
      if (item.type === 'start') onStart()
      const paths = pathsOf(item)
      if (paths === null) changed = null
      else for (const each of paths) changed?.add(each)
      if (item.type !== 'start') timer ??= setTimeout(tell, collectMs)
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the paths of a change. Null if it has none, or one that no request can name. */
function pathsOf(item: WatchItem): readonly string[] | null {
  if (item.type === 'start') return []
  if (!('path' in item) || item.path_base64 !== undefined) return null
  if (item.type !== 'moved') return [item.path]
  return item.from_base64 === undefined ? [item.path, item.from] : null
}
