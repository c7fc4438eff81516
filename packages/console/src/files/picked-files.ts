/**
 * A file of the own machine, or an empty directory, with its path below the place of the upload.
 */
export type PickedFile =
  | { readonly type: 'file'; readonly path: string; readonly file: File }
  | { readonly type: 'directory'; readonly path: string }

/** More files than this at once are refused: an archive is faster. */
const mostPicked = 20_000

/** The maximum number of directories within each other that are read. */
const deepest = 64

/** Returns the files of a field. Files of a directory have paths that begin with its name. */
export function chosenFiles(files: Iterable<File>): readonly PickedFile[] {
  const picked = [...files].map(
    (file): PickedFile => ({ type: 'file', path: file.webkitRelativePath || file.name, file }),
  )
  if (picked.length > mostPicked) throw tooMany()
  return picked
}

/** Returns the files that are dropped, with those in dropped directories. */
export async function droppedFiles({ items, files }: DataTransfer): Promise<readonly PickedFile[]> {
  // The list is empty once the event is over, so everything in it is taken first.
  const entries = [...items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null)
  const plain = entries.length === 0 ? chosenFiles(files) : []
  const picked: PickedFile[] = [...plain]
  for (const entry of entries) await pickEntry(entry, { path: entry.name, depth: 0, picked })
  return picked
}

interface Place {
  readonly path: string
  readonly depth: number
  readonly picked: PickedFile[]
}

async function pickEntry(entry: FileSystemEntry, { path, depth, picked }: Place): Promise<void> {
  if (picked.length >= mostPicked) throw tooMany()
  if (depth > deepest) throw new Error(`${path} is more than ${deepest} directories deep.`)
  if (isFile(entry)) {
    picked.push({ type: 'file', path, file: await new Promise((resolve, reject) => entry.file(resolve, reject)) })
    return
  }
  const inside = isDirectory(entry) ? await entriesOf(entry.createReader()) : []
  if (inside.length === 0) picked.push({ type: 'directory', path })
  for (const each of inside) await pickEntry(each, { path: `${path}/${each.name}`, depth: depth + 1, picked })
}

/** Reads a directory. A reader gives some of the entries at a time, and none at the end. */
async function entriesOf(reader: FileSystemDirectoryReader): Promise<readonly FileSystemEntry[]> {
  const all: FileSystemEntry[] = []
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0 || all.length > mostPicked) return all
    all.push(...some)
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile
}

function isDirectory(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory
}

function tooMany(): Error {
  return new Error(`These are more than ${mostPicked} files. Upload an archive, or use holt cp -r.`)
}
