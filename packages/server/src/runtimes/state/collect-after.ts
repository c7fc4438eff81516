import { notEnded } from '../../foundation/rows/not-ended.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'

/**
 * Requests a collection if an ended runtime was the last user of its image. If that is unknown, the
 * next sweep collects. Never rejects.
 */
export async function collectAfter(service: Runtimes, row: RuntimeRow): Promise<void> {
  try {
    if (!(await isNeeded(service, row.image_digest))) service.collector.request()
  } catch (err) {
    const { log } = service
    log.warn({ err, runtime_id: row.runtime_id }, 'it is unknown whether the image of a runtime is still needed')
  }
}

/** Returns true if a template, a snapshot or another runtime has the image. */
async function isNeeded({ store: { db } }: Runtimes, digest: string): Promise<boolean> {
  const having = [
    db.selectFrom('templates').select('image_digest').where('image_digest', '=', digest).limit(1),
    db.selectFrom('snapshots').select('image_digest').where('image_digest', '=', digest).limit(1),
    db.selectFrom('runtimes').select('image_digest').where('image_digest', '=', digest).where(notEnded).limit(1),
  ]
  for (const query of having) if ((await query.executeTakeFirst()) !== undefined) return true
  return false
}
