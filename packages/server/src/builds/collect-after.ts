import type { Service } from '../service.ts'
import type { RuntimeRow } from '../store/tables.ts'

/**
 * Asks for a collection where a runtime that is over may have been the last that its image was kept for: no template has that any more. The collector finds the rest of
 * what needs it. Where this cannot be known, the next sweep collects: this never rejects.
 */
export async function collectAfter(
  { store, builds, log }: Service,
  { runtime_id: runtimeId, image_digest: digest }: RuntimeRow,
): Promise<void> {
  try {
    const query = store.db.selectFrom('templates').select('template_id').where('image_digest', '=', digest)
    if ((await query.executeTakeFirst()) === undefined) builds.collector.request()
  } catch (err) {
    log.warn({ err, runtime_id: runtimeId }, 'it is not known whether the image of a runtime is needed any more')
  }
}
