import type { Queries } from '../../foundation/store/open-store.ts'
import type { SnapshotRow, TemplateRow } from '../../foundation/store/tables.ts'

/** The content of a state directory: digests of images, and ids of checkpoints. */
export interface Present {
  readonly images: ReadonlySet<string>
  readonly checkpoints: ReadonlySet<string>
}

/** The unusable rows, each with its missing file as a path below the state directory. */
export interface Missing {
  readonly snapshots: readonly Lacking<SnapshotRow>[]
  /** The templates, without the base templates, which are made again. */
  readonly templates: readonly Lacking<TemplateRow>[]
  /** The ids of paused runtimes. */
  readonly runtimes: readonly Lacking<string>[]
}

/** A row and its missing file. */
interface Lacking<Row> {
  readonly row: Row
  readonly file: string
}

/**
 * Finds the files that rows of all projects name and the state directory lacks, for example after
 * an import of rows alone. With `hostId`, only rows of that host are looked at, and no templates:
 * the hosts of a fleet have different ones.
 */
export async function findMissing(db: Queries, present: Present, hostId: string | null = null): Promise<Missing> {
  const ready = db.selectFrom('snapshots').selectAll().where('state', '=', 'ready')
  const snapshots = await (hostId === null ? ready : ready.where('host_id', '=', hostId)).execute()
  const built = db.selectFrom('templates').selectAll().where('state', '=', 'ready').where('kind', '!=', 'system')
  const templates = hostId === null ? await built.execute() : []
  const paused = db
    .selectFrom('runtimes')
    .select(['runtime_id', 'image_digest', 'pause_checkpoint_id'])
    .where('state', '=', 'paused')
  const runtimes = await (hostId === null ? paused : paused.where('host_id', '=', hostId)).execute()
  return {
    snapshots: lacking(snapshots, (row) => missingFileOf(row, present)),
    templates: lacking(templates, ({ image_digest }) => missingFileOf({ image_digest, checkpoint_id: null }, present)),
    runtimes: lacking(runtimes, ({ image_digest, pause_checkpoint_id }) =>
      // The files of a runtime without memory are an image.
      missingFileOf(
        { image_digest: pause_checkpoint_id === null ? image_digest : null, checkpoint_id: pause_checkpoint_id },
        present,
      ),
    ).map(({ row, file }) => ({ row: row.runtime_id, file })),
  }
}

/** Returns the number of each kind. */
export function countMissing(missing: Missing): Readonly<Record<keyof Missing, number>> {
  return {
    snapshots: missing.snapshots.length,
    templates: missing.templates.length,
    runtimes: missing.runtimes.length,
  }
}

/** Returns the first missing file of a thing, or null if all are present. */
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
