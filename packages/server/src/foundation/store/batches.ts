/**
 * The sizes of batches, in rows. They differ by much, so that inserts of many rows have few shapes,
 * and each shape is prepared once.
 */
const sizes = [256, 32, 4, 1] as const

/** Divides rows into batches for one `INSERT` each. */
export function* batches<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  let at = 0
  for (const size of sizes) {
    for (; rows.length - at >= size; at += size) yield rows.slice(at, at + size)
  }
}
