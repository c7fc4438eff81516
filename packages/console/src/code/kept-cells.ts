/** A cell as this tab of the browser keeps it: its code, and the run that has its output. */
export interface KeptCell {
  readonly number: number
  readonly code: string
  readonly runId: string
}

/** The maximum number of cells that are kept for a runtime, and the most characters of one. */
const most = { cells: 30, code: 20_000 } as const

/** Returns the place of the cells of a runtime, for one key. Another key must not see them. */
export function placeOfCells(keyId: string, runtimeId: string): string {
  return `holt.cells.${keyId}.${runtimeId}`
}

/** Returns the cells that this tab has run in a runtime. A reload shows their output again. */
export function keptCells(place: string): readonly KeptCell[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(place) ?? '[]')
    return Array.isArray(kept) ? kept.filter(isKept) : []
  } catch {
    return [] // Something else has written it. The runs themselves are in the runtime.
  }
}

/** Keeps cells for a reload of this tab. Code of great length is left out. */
export function keepCells(place: string, cells: readonly KeptCell[]): void {
  const kept = cells.filter(({ code }) => code.length <= most.code).slice(-most.cells)
  try {
    sessionStorage.setItem(place, JSON.stringify(kept))
  } catch {
    // The storage of the tab is full: a reload shows fewer cells.
  }
}

function isKept(value: unknown): value is KeptCell {
  if (typeof value !== 'object' || value === null) return false
  const { number, code, runId } = value as Partial<Record<keyof KeptCell, unknown>>
  return typeof number === 'number' && typeof code === 'string' && typeof runId === 'string'
}
