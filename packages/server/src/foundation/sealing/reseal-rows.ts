import type { Log } from '../log.ts'
import type { Queries } from '../store/open-store.ts'
import type { SealedValueRow } from '../store/tables.ts'
import type { MasterKeys, SealedFor } from './master-keys.ts'
import { resealValue } from './stored-sealed-values.ts'

/** The owner of a value that no master key opens. */
interface LostValue {
  readonly owner_id: string
  readonly purpose: string
}

/** The result of sealing values again. */
export interface Resealed {
  readonly resealed: number
  readonly lost: readonly LostValue[]
}

/**
 * Seals stored values with the key that seals now. A value that opens with no key is lost already,
 * and stays unchanged.
 */
export async function resealRows(
  changes: Queries,
  masterKeys: MasterKeys,
  rows: readonly SealedValueRow[],
): Promise<Resealed> {
  const lost: LostValue[] = []
  for (const row of rows) {
    const { project_id: projectId, owner_id: ownerId, purpose, version } = row
    const value = opened(masterKeys, row, { projectId, ownerId, purpose, version })
    if (value === null) lost.push({ owner_id: ownerId, purpose })
    else await resealValue(changes, masterKeys, { row, value })
  }
  return { resealed: rows.length - lost.length, lost }
}

/** Logs the owners of lost values. */
export function logLost(log: Log, lost: readonly LostValue[]): void {
  if (lost.length > 0)
    log.error({ values: lost.slice(0, 20), count: lost.length }, 'no master key unseals some values: set them again')
}

function opened(masterKeys: MasterKeys, row: SealedValueRow, owner: SealedFor): string | null {
  try {
    return masterKeys.open({ masterKeyId: row.master_key_id, text: row.sealed }, owner)
  } catch {
    return null // Its key is lost, or its row is damaged.
  }
}
