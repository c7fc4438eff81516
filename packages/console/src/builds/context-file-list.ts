import type { ContextFile, Holt } from '@holt/sdk'
import { type DirectoryDropItem, type DropItem, isDirectoryDropItem, isFileDropItem } from 'react-aria-components'
import { bytesText } from '../parts/amount-text.ts'
import { countText } from './build-text.ts'

/** A file of a context that was written in the page. */
export interface TextFile {
  readonly path: string
  readonly content: string
}

/** The maximum number of files that a person can choose. A context has at most 250,000 entries. */
const mostFiles = 50_000

/** Files to add to a context, and the Dockerfile among them, if there is one. */
export interface FoundFiles {
  readonly files: readonly ContextFile[]
  /** The text of the file `Dockerfile`; null if there is none. */
  readonly dockerfile: string | null
}

/**
 * Returns the files that were dropped: files by their names, and directories with all below them.
 * The content of a single directory is the context itself, as `holt template build DIR` has it.
 */
export async function droppedFiles(holt: Holt, items: readonly DropItem[]): Promise<FoundFiles> {
  const found: ContextFile[] = []
  const only = items.length === 1 ? items[0] : undefined
  if (only !== undefined && isDirectoryDropItem(only)) await addDirectory(found, only, '')
  else
    for (const item of items) {
      if (isFileDropItem(item)) await addFile(found, await item.getFile(), item.name)
      else if (isDirectoryDropItem(item)) await addDirectory(found, item, `${item.name}/`)
    }
  return included(holt, found)
}

/** Returns the files that were chosen. Files of a chosen directory have paths below it. */
export async function chosenFiles(holt: Holt, list: FileList): Promise<FoundFiles> {
  const found: ContextFile[] = []
  for (const file of list) {
    const below = file.webkitRelativePath.split('/').slice(1).join('/')
    await addFile(found, file, below === '' ? file.name : below)
  }
  return included(holt, found)
}

/** Returns files with others in place of those of the same path, by path. */
export function mergeFiles(files: readonly ContextFile[], more: readonly ContextFile[]): readonly ContextFile[] {
  const byPath = new Map([...files, ...more].map((file) => [file.path, file]))
  return [...byPath.values()].toSorted((one, other) => (one.path < other.path ? -1 : 1))
}

/** Returns the size of a file in bytes. */
export function sizeOf({ content }: ContextFile): number {
  if (content instanceof Blob) return content.size
  return typeof content === 'string' ? new TextEncoder().encode(content).length : content.length
}

/** Returns the number and the size of files: `2 files, 12 KiB`. */
export function sizesText(files: readonly ContextFile[]): string {
  return `${countText(files.length, 'file')}, ${bytesText(files.reduce((sum, file) => sum + sizeOf(file), 0))}`
}

async function addFile(found: ContextFile[], file: File, path: string): Promise<void> {
  if (found.length >= mostFiles)
    throw new Error(`More than ${mostFiles} files were chosen. Choose a smaller directory, or use holt template build.`)
  found.push({ path, content: file })
}

async function addDirectory(found: ContextFile[], directory: DirectoryDropItem, above: string): Promise<void> {
  for await (const item of directory.getEntries()) {
    if (isDirectoryDropItem(item)) await addDirectory(found, item, `${above}${item.name}/`)
    else await addFile(found, await item.getFile(), `${above}${item.name}`)
  }
}

/** Leaves out the files that a .dockerignore among them excludes. */
async function included(holt: Holt, found: readonly ContextFile[]): Promise<FoundFiles> {
  const dockerfile = found.find(({ path }) => path === 'Dockerfile')?.content
  return {
    files: await holt.builds.includedFiles(found),
    dockerfile: dockerfile instanceof Blob ? await dockerfile.text() : null,
  }
}
