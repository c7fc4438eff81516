import type { Entry } from '@holt/tar'

/** An entry, perhaps of an image, which also names the place of its content. */
type Given = Entry & { readonly stored?: unknown; readonly perhapsStored?: unknown }

/** An entry with its content read, and its names as text with one character per byte. */
export type ReadEntry = Omit<Entry, 'body' | 'path' | 'linkTarget' | 'size'> & {
  readonly path: string
  readonly linkTarget?: string
  readonly size?: number
  readonly content?: string
}

/** Reads all entries with their content, and leaves out the places of content. */
export async function consume(entries: AsyncIterable<Given>): Promise<ReadEntry[]> {
  const found: ReadEntry[] = []
  for await (const entry of entries) {
    const path = latin1(entry.path)
    if (entry.type === 'file') {
      const parts: Uint8Array[] = []
      for await (const chunk of entry.body ?? []) parts.push(Buffer.from(chunk))
      const { body: _, stored: __, perhapsStored: ___, ...rest } = entry
      found.push({ ...rest, path, content: Buffer.concat(parts).toString('latin1') })
    } else if (entry.type === 'symlink' || entry.type === 'hardlink') {
      found.push({ ...entry, path, linkTarget: latin1(entry.linkTarget) })
    } else found.push({ ...entry, path })
  }
  return found
}

function latin1(text: Uint8Array | string): string {
  return Buffer.from(text).toString('latin1')
}
