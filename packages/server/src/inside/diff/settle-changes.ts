import { createHash } from 'node:crypto'
import type { ImageTree } from '@holt/engine'
import { type GuestClient, maxListedEntries } from '@holt/guest-client'
import { kindOf, type TreeChange } from './tree-change.ts'

/** The bytes of files that one answer compares. Other files of equal size count as modified. */
const maxComparedBytes = 4 * 2 ** 30

/**
 * Decides the open changes of a page by the contents of the files, and leaves out the entries that
 * have not changed. A file that is removed meanwhile counts as removed.
 */
export async function settleChanges(
  changes: readonly TreeChange[],
  { base, guest, signal }: { readonly base: ImageTree; readonly guest: GuestClient; readonly signal: AbortSignal },
): Promise<readonly TreeChange[]> {
  const digests = await guestDigests(changes, guest, signal)
  let bytesLeft = maxComparedBytes
  const settled: TreeChange[] = []
  for (const change of changes) {
    if (!change.isOpen || change.before === null) {
      settled.push(change)
      continue
    }
    const now = digests.get(change) ?? null
    const before = change.before
    let isModified = now?.type === 'file' && (now.size !== before.size || now.sha256 === null)
    if (!isModified && now?.type === 'file') {
      bytesLeft -= before.size
      isModified =
        bytesLeft < 0 || !(await digestOf(base.content(before), signal)).equals(now.sha256 ?? Buffer.alloc(0))
    }
    settled.push({ ...change, after: now, isOpen: false, isModified })
  }
  return settled.filter((change) => kindOf(change) !== null)
}

async function guestDigests(changes: readonly TreeChange[], guest: GuestClient, signal: AbortSignal) {
  const digests = new Map<TreeChange, TreeChange['after']>()
  let bytesLeft = maxComparedBytes
  const open = changes.filter(({ isOpen }) => isOpen)
  const small = open.filter(({ before }) => {
    bytesLeft -= before?.size ?? 0
    return bytesLeft >= 0
  })
  for (const change of open) digests.set(change, change.after)
  for (let at = 0; at < small.length; at += maxListedEntries) {
    const group = small.slice(at, at + maxListedEntries)
    const paths = group.map(({ path }) => path)
    const entries = await guest.listings.entries({ paths, digest: true, maxBytes: 0 }, signal)
    for (const [index, change] of group.entries()) digests.set(change, entries[index] ?? null)
  }
  return digests
}

async function digestOf(content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Buffer> {
  const hash = createHash('sha256')
  for await (const chunk of content) {
    signal.throwIfAborted()
    hash.update(chunk)
  }
  return hash.digest()
}
