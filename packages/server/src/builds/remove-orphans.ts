import { readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { batches } from '../foundation/store/batches.ts'
import { dayMs } from '../foundation/time/day.ts'
import type { Builds } from './builds.ts'

/** A younger file may get its row still, in milliseconds. */
const youngMs = dayMs / 24

/**
 * Removes the files of contexts whose rows are gone, in a fleet. The host that removes a row
 * removes its own file alone.
 */
export async function removeOrphans({ builds, holds, store }: Builds): Promise<void> {
  const dir = builds.paths.contexts
  const names = await readdir(dir).catch(() => [])
  const ids = names.filter((name) => name.endsWith('.tar')).map((name) => basename(name, '.tar'))
  const known = new Set<string>()
  for (const some of batches(ids)) {
    const rows = store.db.selectFrom('build_contexts').select('context_id').where('context_id', 'in', some)
    for (const { context_id } of await rows.execute()) known.add(context_id)
  }
  for (const id of ids) {
    if (known.has(id) || holds.isHeld(id) || builds.needsContext(id)) continue
    const path = join(dir, `${id}.tar`)
    const { mtimeMs } = await stat(path)
    if (mtimeMs < Date.now() - youngMs) await rm(path, { force: true })
  }
}
