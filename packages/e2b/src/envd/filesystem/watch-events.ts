import { dirname, relative } from 'node:path/posix'
import { ConnectError } from '../../errors/connect-error.ts'
import type { FileFacts } from '../backend/files.ts'
import type { FileChange } from '../backend/watches.ts'
import { entryInfo } from '../entry/entry-info.ts'
import type { WatchEvent } from '../watchers/polling-watchers.ts'

/** The maximum number of new directories whose files are looked at. */
const maxNewDirectories = 1024

/** The message that is sent when no other was for a while. */
export const watchKeepalive = { keepalive: {} }

/**
 * Yields the events for changes below a directory, with names relative to it. Throws
 * `resource_exhausted` if changes were lost.
 */
export async function* watchEvents(
  { root, includeEntry }: { readonly root: string; readonly includeEntry: boolean },
  changes: AsyncIterable<FileChange>,
  stat: (path: string) => Promise<FileFacts | null>,
): AsyncGenerator<WatchEvent> {
  const event = (type: string, path: string, facts: FileFacts | null = null): WatchEvent => ({
    name: relative(root, path),
    type: `EVENT_TYPE_${type}`,
    ...(facts !== null && includeEntry ? { entry: entryInfo(facts) } : {}),
  })
  const factsOf = async (path: string) => (includeEntry ? stat(path) : null)
  const newDirectories = new NewDirectories()
  for await (const change of changes) {
    switch (change.type) {
      case 'lost':
        throw new ConnectError('resource_exhausted', 'Changes were lost: there were too many at once. Watch again.')
      case 'modified':
        yield event('WRITE', change.path, await factsOf(change.path))
        break
      case 'attributes':
        yield event('CHMOD', change.path, await factsOf(change.path))
        break
      case 'removed':
        yield event('REMOVE', change.path)
        break
      case 'moved':
        yield event('RENAME', change.from)
        yield event('CREATE', change.path, await factsOf(change.path))
        break
      case 'created': {
        const isFound = newDirectories.note(change)
        const facts = isFound || includeEntry ? await stat(change.path) : null
        yield event('CREATE', change.path, facts)
        // The file was written before its directory was watched, so no other change tells of it.
        if (isFound && facts?.kind === 'file' && facts.sizeBytes > 0) yield event('WRITE', change.path, facts)
      }
    }
  }
}

/** The directories that appeared in a watch lately. */
class NewDirectories {
  readonly #paths = new Set<string>()

  /** Returns true if a new file was found in a new directory. */
  note({ path, isDirectory }: { readonly path: string; readonly isDirectory: boolean }): boolean {
    if (!isDirectory) return this.#paths.has(dirname(path))
    this.#paths.add(path)
    if (this.#paths.size > maxNewDirectories) for (const oldest of this.#paths) return !this.#paths.delete(oldest)
    return false
  }
}
