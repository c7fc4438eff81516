import { setImmediate } from 'node:timers/promises'
import type { GuestClient, ListedEntry } from '@holt/guest-client'
import type { DiffEntry } from '@holt/protocol'
import type { BaseNode, BaseTree } from './base-tree.ts'
import { filePatch, isText, type PatchSide } from './file-patch.ts'
import { gitPath } from './git-path.ts'
import { CompareTime } from './text-hunks.ts'
import type { EntryState, TreeChange } from './tree-change.ts'

/** The largest file that a patch shows, in bytes. */
const maxShownBytes = 2 ** 20
/** The largest patch, in bytes. */
const maxPatchBytes = 8 * 2 ** 20
/** The files that are read at once. Their contents are in memory together. */
const filesAtOnce = 8

/** The part of a change that a patch shows, and the reason if that is not all. */
export type Shown = NonNullable<DiffEntry['patch']>

/** A patch in git's format. */
export interface WrittenPatch {
  readonly text: string
  /** The part of each change that the patch shows, in the order of the changes. */
  readonly shown: readonly Shown[]
}

interface PatchSources {
  readonly base: BaseTree
  readonly guest: GuestClient
  readonly signal: AbortSignal
  readonly time: CompareTime
  /** The directory that paths in the patch are relative to. */
  readonly root: Buffer
}

/**
 * Writes the patch of changes. Contents come from the base and from the runtime now. A file that
 * the patch cannot show is named in a comment, which `git apply` skips.
 */
export async function writePatch(
  changes: readonly TreeChange[],
  given: Omit<PatchSources, 'time'>,
): Promise<WrittenPatch> {
  const sources = { ...given, time: new CompareTime() }
  const shown: Shown[] = []
  const parts: string[] = []
  let bytes = 0
  for (let at = 0; at < changes.length; at += filesAtOnce) {
    const group = changes.slice(at, at + filesAtOnce)
    const now = bytes >= maxPatchBytes ? [] : await readNow(group, sources)
    for (const [index, change] of group.entries()) {
      const part = bytes >= maxPatchBytes ? full(change) : await partOf(change, now[index] ?? null, sources)
      const length = Buffer.byteLength(part.text)
      const fits = bytes + length <= maxPatchBytes
      if (fits) parts.push(part.text)
      if (fits) bytes += length
      shown.push(fits ? part.shown : 'patch_full')
      await setImmediate()
    }
  }
  return { text: parts.join(''), shown }
}

interface Part {
  readonly text: string
  readonly shown: Shown
}

function full({ before, after }: TreeChange): Part {
  return { text: '', shown: isInGit(before) || isInGit(after) ? 'patch_full' : 'not_in_git' }
}

/** Reads the entries that a patch needs, with their contents. */
async function readNow(
  group: readonly TreeChange[],
  { guest, signal }: PatchSources,
): Promise<readonly (ListedEntry | null)[]> {
  const wanted = group.filter(({ after }) => isInGit(after))
  if (wanted.length === 0) return group.map(() => null)
  const paths = wanted.map(({ path }) => path)
  const entries = await guest.listings.entries({ paths, digest: false, maxBytes: maxShownBytes }, signal)
  const found = new Map(wanted.map((change, index) => [change, entries[index] ?? null]))
  return group.map((change) => found.get(change) ?? null)
}

async function partOf(change: TreeChange, now: ListedEntry | null, sources: PatchSources): Promise<Part> {
  const { before, after } = change
  if (!isInGit(before) && !isInGit(after)) return { text: '', shown: 'not_in_git' }
  if (isInGit(after) && now?.type !== after.type) return { text: '', shown: 'changed_meanwhile' }
  const path = relativeTo(sources.root, change.path)
  if ([before, now].some((side) => side?.type === 'file' && side.size > maxShownBytes))
    return { text: comment(path, 'is too large', { before, now }), shown: 'too_large' }
  const old = await oldSide(change, now, sources)
  if (old === 'not_kept')
    return { text: comment(path, 'had content that was not kept', { before, now }), shown: 'not_kept' }
  const sides = { old, now: now === null ? null : sideOf(now) }
  const isSame =
    sides.old !== null &&
    sides.now !== null &&
    sides.old.mode === sides.now.mode &&
    sides.old.content.equals(sides.now.content)
  if (isSame) return { text: '', shown: 'not_in_git' }
  const isModeOnly = sides.old !== null && sides.now !== null && sides.old.content.equals(sides.now.content)
  if (!isModeOnly && [sides.old, sides.now].some((side) => side !== null && !isText(side.content)))
    return { text: comment(path, 'is binary', { before, now }), shown: 'binary' }
  return { text: filePatch(path, { before: sides.old, after: sides.now }, sources.time), shown: 'shown' }
}

/** Returns true for a file or a symlink, which git knows. */
function isInGit<Entry extends Pick<EntryState, 'type'>>(entry: Entry | null): entry is Entry {
  return entry?.type === 'file' || entry?.type === 'symlink'
}

/** Returns the side before a change. The content of an unchanged file need not have been kept. */
async function oldSide(
  { before, after, isModified }: TreeChange,
  now: ListedEntry | null,
  { base }: PatchSources,
): Promise<PatchSide | 'not_kept' | null> {
  if (!isInGit(before)) return null
  if (before.type === 'symlink') return { mode: '120000', content: await base.target(before) }
  const content = base.content(before)
  if (content !== null) return { mode: gitMode(before.mode), content: await contentOf(content) }
  if (isModified || after?.type !== 'file' || now === null) return 'not_kept'
  return { mode: gitMode(before.mode), content: sideOf(now).content }
}

async function contentOf(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of content) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

function sideOf({ type, mode, target, content }: ListedEntry): PatchSide {
  if (type === 'symlink') return { mode: '120000', content: target }
  return { mode: gitMode(mode), content: content ?? Buffer.alloc(0) }
}

function gitMode(mode: number): '100644' | '100755' {
  return (mode & 0o100) === 0 ? '100644' : '100755'
}

function relativeTo(root: Buffer, path: Buffer): Buffer {
  return path.subarray(root.length === 1 ? 1 : root.length + 1)
}

function comment(
  path: Buffer,
  what: string,
  { before, now }: { readonly before: BaseNode | null; readonly now: ListedEntry | null },
): string {
  const size = (side: { readonly type: string; readonly size: number } | null) =>
    side?.type === 'file' ? `${side.size} bytes` : (side?.type ?? 'absent')
  return `# ${gitPath('', path)} ${what} and is not shown: before ${size(before)}, now ${size(now)}\n`
}
