import { isUtf8 } from 'node:buffer'
import type { ListedType } from '@holt/guest-client'
import type { DiffEntry } from '@holt/protocol'
import { type EntryState, kindOf, type TreeChange } from './tree-change.ts'
import type { Shown } from './write-patch.ts'

/** Returns a change as the API shows it. */
export function presentChange(change: TreeChange, shown: Shown | null): DiffEntry {
  const { path, before, after } = change
  return {
    path: path.toString('utf8'),
    ...(isUtf8(path) ? {} : { path_base64: path.toString('base64') }),
    change: kindOf(change) ?? 'attributes',
    type: typeOf(after),
    previous_type: typeOf(before),
    size_bytes: sizeOf(after),
    previous_size_bytes: sizeOf(before),
    mode: modeOf(after),
    previous_mode: modeOf(before),
    uid: after?.uid ?? null,
    previous_uid: before?.uid ?? null,
    gid: after?.gid ?? null,
    previous_gid: before?.gid ?? null,
    patch: shown,
  }
}

function typeOf(state: EntryState | null): DiffEntry['type'] {
  if (state === null) return null
  const shown: Record<ListedType, DiffEntry['type']> = {
    file: 'file',
    directory: 'directory',
    symlink: 'symlink',
    fifo: 'fifo',
    socket: 'socket',
    char: 'device',
    block: 'device',
    unknown: 'unknown',
  }
  return shown[state.type]
}

function sizeOf(state: EntryState | null): number | null {
  return state?.type === 'file' ? state.size : null
}

function modeOf(state: EntryState | null): string | null {
  return state === null ? null : state.mode.toString(8).padStart(4, '0')
}
