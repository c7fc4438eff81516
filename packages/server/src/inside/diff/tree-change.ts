import type { ListedType } from '@holt/guest-client'
import type { BaseNode } from './base-tree.ts'

/** The state of an entry before a change, or after it. */
export interface EntryState {
  readonly type: ListedType
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** The bytes of a file's content. */
  readonly size: number
}

/** An entry that differs between the base and the runtime, or may differ. */
export interface TreeChange {
  /** The path from the root, as bytes. */
  readonly path: Buffer
  /** Null if the base has no such entry. */
  readonly before: BaseNode | null
  /** Null if the runtime has no such entry. */
  readonly after: EntryState | null
  /** True if only the contents of the files can tell whether they differ. */
  readonly isOpen: boolean
  /** True if the contents of two entries of one type are known to differ. */
  readonly isModified: boolean
}

/** The kinds of changes. */
export type ChangeKind = 'added' | 'modified' | 'removed' | 'type_changed' | 'attributes'

/** Returns only the state of an entry. The rest of a listed entry can be large. */
export function stateOf({ type, mode, uid, gid, size }: EntryState): EntryState {
  return { type, mode, uid, gid, size }
}

/** Returns the kind of a change that is no longer open; null if nothing has changed. */
export function kindOf({ before, after, isModified }: TreeChange): ChangeKind | null {
  if (before === null) return after === null ? null : 'added'
  if (after === null) return 'removed'
  if (before.type !== after.type) return 'type_changed'
  if (isModified) return 'modified'
  return sameAttributes(before, after) ? null : 'attributes'
}

/** Returns true if mode and owner are equal. The mode of a symlink has no meaning. */
function sameAttributes(before: EntryState, after: EntryState): boolean {
  const sameMode = before.mode === after.mode || after.type === 'symlink'
  return sameMode && before.uid === after.uid && before.gid === after.gid
}
