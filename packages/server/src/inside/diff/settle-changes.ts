import { type GuestClient, type ListedEntry, maxListedEntries } from '@holt/guest-client'
import type { BaseNode, BaseTree } from './base-tree.ts'
import { kindOf, stateOf, type TreeChange } from './tree-change.ts'

/** The bytes of files that one answer compares. Other files of equal size count as modified. */
const maxComparedBytes = 4 * 2 ** 30

/** The candidates that are decided at once. Their digests come in one answer of the guest. */
const decidedAtOnce = maxListedEntries

interface Settling {
  /** The maximum number of changes of the page. */
  readonly limit: number
  readonly base: BaseTree
  readonly guest: GuestClient
  readonly signal: AbortSignal
}

/** A page of decided changes. */
interface Settled {
  readonly changes: readonly TreeChange[]
  /** The last entry that the page covers; null if nothing follows. */
  readonly last: TreeChange | null
}

/**
 * Decides candidates in order until the page is full. Open ones are decided by the contents of the
 * files. Entries that have not changed are left out. A file that is removed meanwhile counts as
 * removed.
 */
export async function settleChanges(
  { changes: candidates, more }: { readonly changes: readonly TreeChange[]; readonly more: boolean },
  settling: Settling,
): Promise<Settled> {
  const budget = { bytesLeft: maxComparedBytes }
  const settled: TreeChange[] = []
  for (let at = 0; at < candidates.length; at += decidedAtOnce) {
    settled.push(...(await decide(candidates.slice(at, at + decidedAtOnce), settling, budget)))
    if (settled.length > settling.limit) break
  }
  const changes = settled.slice(0, settling.limit)
  if (settled.length > changes.length) return { changes, last: changes.at(-1) ?? null }
  return { changes, last: more ? (candidates.at(-1) ?? null) : null }
}

interface Budget {
  bytesLeft: number
}

async function decide(
  group: readonly TreeChange[],
  { base, guest, signal }: Settling,
  budget: Budget,
): Promise<readonly TreeChange[]> {
  const compared = group.filter((change) => change.isOpen && fits(change, budget))
  const paths = compared.map(({ path }) => path)
  const entries = paths.length === 0 ? [] : await guest.listings.entries({ paths, digest: true, maxBytes: 0 }, signal)
  const now = new Map(compared.map((change, index) => [change, entries[index] ?? null]))
  const decided: TreeChange[] = []
  for (const change of group) {
    const { before } = change
    if (!change.isOpen || before === null) decided.push(change)
    else if (!now.has(change)) decided.push({ ...change, isOpen: false, isModified: true })
    else {
      const after = now.get(change) ?? null
      const isModified = after?.type === 'file' && !(await isEqual(before, after, { base, signal }))
      decided.push({ ...change, after: after === null ? null : stateOf(after), isOpen: false, isModified })
    }
  }
  return decided.filter((change) => kindOf(change) !== null)
}

function fits({ before }: TreeChange, budget: Budget): boolean {
  const size = before?.size ?? 0
  if (size > budget.bytesLeft) return false
  budget.bytesLeft -= size
  return true
}

async function isEqual(
  before: BaseNode,
  after: ListedEntry,
  { base, signal }: Pick<Settling, 'base' | 'signal'>,
): Promise<boolean> {
  if (before.size !== after.size || after.sha256 === null) return false
  const digest = await base.digest(before, signal)
  return digest?.equals(after.sha256) ?? false
}
