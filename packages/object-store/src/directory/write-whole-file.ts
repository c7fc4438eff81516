import { randomUUID } from 'node:crypto'
import { link, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ObjectStoreError } from '../contract/object-store-error.ts'
import { makeParents, syncDirectory } from './directories.ts'
import { codeOf } from './file-errors.ts'

/** The directory of files that are being written, beside the first segments of keys. */
const unfinished = '.unfinished'

/** How often parents are made again because a deletion removed them. */
const mostTries = 20

interface WholeFile {
  readonly root: string
  readonly key: string
  readonly pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>
  /** True to write only if there is no such file. */
  readonly ifAbsent: boolean
  readonly signal: AbortSignal | undefined
}

/** Writes a file under a temporary name, syncs it, publishes it, and syncs its directory. */
export async function writeWholeFile({ root, key, pieces, ifAbsent, signal }: WholeFile): Promise<void> {
  signal?.throwIfAborted()
  const name = `${unfinished}/${randomUUID()}`
  await makeParents(root, name)
  const temporary = join(root, name)
  try {
    await writePieces(temporary, pieces, signal)
    await publish({ root, key, temporary, ifAbsent })
  } finally {
    await rm(temporary, { force: true })
  }
}

async function writePieces(path: string, pieces: WholeFile['pieces'], signal: AbortSignal | undefined): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const piece of pieces) {
      signal?.throwIfAborted()
      await file.writeFile(piece)
    }
    signal?.throwIfAborted()
    await file.sync()
  } finally {
    await file.close()
  }
}

async function publish({
  root,
  key,
  temporary,
  ifAbsent,
}: Pick<WholeFile, 'root' | 'key' | 'ifAbsent'> & { readonly temporary: string }): Promise<void> {
  const path = join(root, key)
  for (let attempt = 1; ; attempt += 1) {
    await makeParents(root, key)
    try {
      await (ifAbsent ? linkNew(temporary, path) : rename(temporary, path))
      break
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || attempt === mostTries) throw error // Else a deletion removed the parent.
    }
  }
  await syncDirectory(dirname(path))
}

/**
 * Gives a file its name unless another file has it. A network file system may repeat a call whose
 * answer was lost, and then reports that the name exists. So the files are compared.
 */
async function linkNew(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    const [own, there] = await Promise.all([stat(temporary), stat(path)])
    if (own.ino !== there.ino || own.dev !== there.dev)
      throw new ObjectStoreError('precondition_failed', `${path} exists already`, { cause: error })
  }
}

/** Removes the files of writers that ended before they published them. */
export async function removeUnfinishedFiles(root: string, before: Date, signal?: AbortSignal): Promise<void> {
  const directory = join(root, unfinished)
  for (const name of await namesIn(directory)) {
    signal?.throwIfAborted()
    const path = join(directory, name)
    const facts = await stat(path).catch(() => null) // Its writer has published it meanwhile.
    if (facts !== null && facts.mtime < before) await rm(path, { force: true })
  }
}

async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}
