import type { Queries } from '../store/open-store.ts'
import type { SnapshotRow, TemplateRow } from '../store/tables.ts'

/** What a state directory has: digests of images, ids of checkpoints. */
export interface Present {
  readonly images: ReadonlySet<string>
  readonly checkpoints: ReadonlySet<string>
}

/**
 * Rows that nothing can be made from, each with the file that it lacks, as a path below the state
 * directory.
 */
export interface Missing {
  readonly snapshots: readonly Lacking<SnapshotRow>[]
  /** Without the base templates, which are made anew. */
  readonly templates: readonly Lacking<TemplateRow>[]
  /** Paused runtimes, by their ids. */
  readonly runtimes: readonly Lacking<string>[]
}

/** A row and what it lacks. */
interface Lacking<Row> {
  readonly row: Row
  readonly file: string
}

/**
 * Finds what rows of every project name and the state directory does not have, as after an import
 * of rows alone.
 */
export async function findMissing(db: Queries, present: Present): Promise<Missing> {
  const snapshots = await db.selectFrom('snapshots').selectAll().where('state', '=', 'ready').execute()
  const templates = await db
    .selectFrom('templates')
    .selectAll()
    .where('state', '=', 'ready')
    .where('kind', '!=', 'system')
    .execute()
  const runtimes = await db
    .selectFrom('runtimes')
    .select(['runtime_id', 'pause_checkpoint_id'])
    .where('state', '=', 'paused')
    .execute()
  return {
    snapshots: lacking(snapshots, (row) => missingFileOf(row, present)),
    templates: lacking(templates, ({ image_digest }) => missingFileOf({ image_digest, checkpoint_id: null }, present)),
    runtimes: lacking(runtimes, ({ pause_checkpoint_id }) =>
      missingFileOf({ image_digest: null, checkpoint_id: pause_checkpoint_id }, present),
    ).map(({ row, file }) => ({ row: row.runtime_id, file })),
  }
}

/** How many of each. */
export function countMissing(missing: Missing): Readonly<Record<keyof Missing, number>> {
  return {
    snapshots: missing.snapshots.length,
    templates: missing.templates.length,
    runtimes: missing.runtimes.length,
  }
}

/**
 * The first file that is not there of those that something is made from; null where it is whole.
 */
export function missingFileOf(
  { image_digest, checkpoint_id }: Pick<TemplateRow, 'image_digest' | 'checkpoint_id'>,
  { images, checkpoints }: Present,
): string | null {
  if (checkpoint_id !== null && !checkpoints.has(checkpoint_id)) return `checkpoints/${checkpoint_id}`
  if (image_digest !== null && !images.has(image_digest)) return `images/${image_digest.replace('sha256:', '')}.erofs`
  return null
}

function lacking<Row>(rows: readonly Row[], fileOf: (row: Row) => string | null): readonly Lacking<Row>[] {
  return rows.flatMap((row) => {
    const file = fileOf(row)
    return file === null ? [] : [{ row, file }]
  })
}
