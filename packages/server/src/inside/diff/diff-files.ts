import type { GuestClient } from '@holt/guest-client'
import { type FileDiff, HoltError, isSet } from '@holt/protocol'
import { findRuntime } from '../../foundation/rows/find-runtime.ts'
import { wrongCursor } from '../../foundation/store/page-cursor.ts'
import { type Answer, type Call, within } from '../../foundation/wire/call.ts'
import type { Inside } from '../inside.ts'
import { maxBaselineBytes } from './baseline-tree.ts'
import { ChangePage } from './change-page.ts'
import { type Compared, compareTrees, PrunedTooMuch, type TreesToCompare } from './compare-trees.ts'
import { findDiffBase } from './diff-base.ts'
import { openTrees } from './open-trees.ts'
import { presentChange } from './present-change.ts'
import { settleChanges } from './settle-changes.ts'
import type { TreeChange } from './tree-change.ts'
import { type WrittenPatch, writePatch } from './write-patch.ts'

/** The time of one diff, in milliseconds, with the wait for an earlier one of the project. */
const diffTimeoutMs = 5 * 60_000

/**
 * The entries of one listing that may have changed. Files that were written without a change of
 * their content are among them, and a page skips them.
 */
const maxCandidates = 5000

/** The bytes of the paths of such entries. A path in JSON has up to six times as many. */
const maxCandidatePathBytes = 2 ** 20

/** The memory of an answer in bytes: a page of long paths, and a patch with its files. */
const maxListedBytes = 8 * 2 ** 20
const maxPatchedBytes = 32 * 2 ** 20

/**
 * Answers the changes of a runtime's files. It lists the runtime's tree, compares it with the tree
 * of an image, decides by content what the listing leaves open, and writes the patch. The memory of
 * an answer is bounded by its page.
 */
export async function diffFiles(call: Call<'diffFiles', Inside>): Promise<Answer> {
  const { service, ref, query } = call
  const base = await findDiffBase(service, await findRuntime(service, ref), query.since)
  const guest = await call.guest()
  const signal = within(call, diffTimeoutMs)
  return await service.diffs.run(ref.projectId, async () => {
    signal.throwIfAborted()
    // Not before: a diff that waits needs no memory.
    const recordBytes = base.record === null ? 0 : maxBaselineBytes
    call.keepAnswer(recordBytes + (isSet(query.patch) ? maxPatchedBytes : maxListedBytes))
    // A resume may have changed the row.
    const row = await findRuntime(service, ref)
    await using trees = await openTrees(service, { base, row, guest, path: Buffer.from(query.path), signal })
    const request = { ...trees, path: Buffer.from(query.path), isolation: row.isolation, signal }
    const after = query.cursor === undefined ? null : pathInCursor(query.cursor)
    const found = await findChanges(guest, request, { after, size: maxCandidates })
    const { changes, last } = await settleChanges(found, { limit: query.limit, base: trees.base, guest, signal })
    const root = found.isDirectory ? request.path : parentOf(request.path)
    const patch = isSet(query.patch) ? await writePatch(changes, { base: trees.base, guest, signal, root }) : null
    const page = presentPage({ changes, patch, next: last === null ? null : cursorAfter(last) })
    const json: FileDiff = { since: trees.since, ...page, truncated: last !== null || found.leftOut > 0 }
    return { status: 200, json }
  })
}

function presentPage({
  changes,
  patch,
  next,
}: {
  readonly changes: readonly TreeChange[]
  readonly patch: WrittenPatch | null
  readonly next: string | null
}): Omit<FileDiff, 'since' | 'truncated'> {
  const complete = patch?.shown.every((shown) => shown === 'shown' || shown === 'not_in_git') ?? null
  return {
    data: changes.map((change, index) => presentChange(change, patch?.shown[index] ?? null)),
    next_cursor: next,
    patch: patch?.text ?? null,
    patch_complete: complete,
  }
}

interface Found extends Compared {
  readonly changes: readonly TreeChange[]
  readonly more: boolean
}

/** Lists the runtime's tree and compares it. Directories that cannot have changed are left out. */
async function findChanges(
  guest: GuestClient,
  trees: TreesToCompare,
  { after, size }: { readonly after: Buffer | null; readonly size: number },
): Promise<Found> {
  const compare = async (prune: boolean): Promise<Found> => {
    const page = new ChangePage({ after, size, maxPathBytes: maxCandidatePathBytes })
    const compared = await compareTrees(guest.listings.tree({ path: trees.path, prune }, trees.signal), trees, page)
    if (compared.isMissing)
      throw new HoltError('path_not_found', `${trees.path.toString()}: there is nothing, and there was nothing.`)
    return { ...compared, ...page.end() }
  }
  try {
    return await compare(true)
  } catch (error) {
    // The clock was set back, or a program has renamed a directory of the image.
    if (!(error instanceof PrunedTooMuch)) throw error
    return await compare(false)
  }
}

function parentOf(path: Buffer): Buffer {
  const end = path.lastIndexOf('/')
  return path.subarray(0, Math.max(1, end))
}

/** Names are bytes, so a cursor has those of the last path. */
function cursorAfter({ path }: TreeChange): string {
  return path.toString('base64url')
}

function pathInCursor(cursor: string): Buffer {
  const path = Buffer.from(cursor, 'base64url')
  if (path[0] !== 0x2f || path.includes(0) || path.toString('base64url') !== cursor) throw wrongCursor()
  return path
}
