import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { writeDurably } from '../foundation/config/write-durably.ts'
import type { BuildNotes, Note, NotePlace, NotesOf } from './build-notes.ts'
import type { BuildPaths } from './paths.ts'

/** The time in milliseconds after which nobody continues to write a file. */
const unchangedMs = 3600 * 1000

/** The names of notes. A file that is being written has a further ending (`writeDurably`). */
const finished = /^(?:[\w.]+\.json|[0-9a-f]{64}|used-\d+-[\w-]+)$/

/** Notes in files below the state directory. Each project has a directory for each kind. */
export class FileNotes implements BuildNotes {
  readonly #paths: BuildPaths

  constructor(paths: BuildPaths) {
    this.#paths = paths
  }

  /** Returns the names, and removes unfinished files that an earlier process has left. */
  async names(of: NotesOf): Promise<readonly string[]> {
    const dir = this.#dirOf(of)
    const names = await readdir(dir).catch(orNone<string[]>([]))
    for (const name of names.filter(isUnfinished))
      if (await isLeftover(join(dir, name))) await rm(join(dir, name), { force: true })
    return names.filter((name) => !isUnfinished(name))
  }

  async list(of: NotesOf): Promise<readonly Note[]> {
    const notes: Note[] = []
    for (const name of await this.names(of)) {
      const path = join(this.#dirOf(of), name)
      const info = await stat(path).catch(orNone(null))
      const text = await this.read({ ...of, name })
      if (info !== null && text !== null) notes.push({ name, text, changedAt: info.mtimeMs })
    }
    return notes
  }

  async read(place: NotePlace): Promise<string | null> {
    return readFile(this.#pathOf(place), 'utf8').catch(orNone<string | null>(null))
  }

  async write(place: NotePlace, text: string): Promise<void> {
    const path = this.#pathOf(place)
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeDurably(path, text)
  }

  async add(place: NotePlace): Promise<boolean> {
    const path = this.#pathOf(place)
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    try {
      await writeFile(path, '', { flag: 'wx', mode: 0o600 })
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
      throw error
    }
  }

  async remove(place: NotePlace): Promise<void> {
    await rm(this.#pathOf(place), { force: true })
  }

  async projects(): Promise<readonly string[]> {
    const dirs = [this.#paths.requests, this.#paths.uploads]
    const names = await Promise.all(dirs.map((dir) => readdir(dir).catch(orNone<string[]>([]))))
    return [...new Set(names.flat())]
  }

  async removeAll(projectId: string): Promise<void> {
    const dirs = [this.#paths.requestsOf(projectId), this.#paths.uploadsOf(projectId)]
    await Promise.all(dirs.map((dir) => rm(dir, { recursive: true, force: true })))
  }

  #dirOf({ kind, projectId }: NotesOf): string {
    return kind === 'requests' ? this.#paths.requestsOf(projectId) : this.#paths.uploadsOf(projectId)
  }

  #pathOf({ name, ...of }: NotePlace): string {
    return join(this.#dirOf(of), name)
  }
}

function isUnfinished(name: string): boolean {
  return !finished.test(name)
}

/** Returns true if an unfinished file was left by a process that has ended. */
async function isLeftover(path: string): Promise<boolean> {
  const info = await stat(path).catch(orNone(null))
  return info !== null && info.mtimeMs < Date.now() - unchangedMs
}

/** Returns a value for a file or directory that is missing. */
function orNone<Value>(none: Value): (error: NodeJS.ErrnoException) => Value {
  return (error) => {
    if (error.code === 'ENOENT') return none
    throw error
  }
}
