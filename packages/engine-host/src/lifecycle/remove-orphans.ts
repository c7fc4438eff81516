import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { RuntimeId } from '@holt/engine'
import { hasCode } from '../files/durable-files.ts'
import type { Host } from '../host/host.ts'
import { isRuntimeId } from '../installation/layout.ts'
import { disownRunDir, ownRunDir, ownsRunDir } from '../installation/run-dir-owner.ts'
import { readRecord } from '../runtimes/runtime-record.ts'
import { clearPaths } from './remove-runtime.ts'

/**
 * Removes the remains of runtimes that have no record: processes, cgroups, mounts, sockets and
 * files.
 *
 * A record is written before all of these and removed after them. So remains without a record are
 * useless if they belong to this installation. Those in the state directory alone do. Those in the
 * run directory do if the directory has this installation's mark.
 *
 * All others are kept. They may belong to another installation that shares the run directory, or to
 * the original of a copied state. Remains with an unreadable record are kept, too.
 */
export async function removeOrphans(host: Host, installationId: string): Promise<void> {
  const { layout } = host
  const isOwn = await ownsRunDir(layout, installationId)
  const names = await namesLeft(host)
  let hasStrangers = false
  for (const id of new Set([...names.inState, ...names.inRunDir, ...names.inCgroups])) {
    if (host.runtimes.get(id) !== undefined) continue
    const isInRunDir = names.inRunDir.has(id)
    if (isInRunDir ? !isOwn : names.inCgroups.has(id)) {
      hasStrangers ||= isInRunDir
      host.log.warn({ runtime: id }, 'a runtime without a record may belong to another installation, kept')
    } else if ((await readRecord(layout.runtime(id).record)) === 'absent') await removeOrphan(host, id)
  }
  await (hasStrangers ? disownRunDir(layout) : ownRunDir(layout, installationId))
}

async function removeOrphan(host: Host, id: RuntimeId): Promise<void> {
  try {
    await clearPaths(host, host.layout.runtime(id), { state: 'preparing', process: null })
    host.log.warn({ runtime: id }, 'removed the remains of a runtime without a record')
  } catch (err) {
    host.log.error({ err, runtime: id }, 'cannot remove the remains of a runtime without a record, kept')
  }
}

/** The runtimes of all remains, by location. */
interface NamesLeft {
  readonly inState: ReadonlySet<RuntimeId>
  readonly inRunDir: ReadonlySet<RuntimeId>
  readonly inCgroups: ReadonlySet<RuntimeId>
}

async function namesLeft({ layout, cgroups, cgroupParent }: Host): Promise<NamesLeft> {
  const [inState, inRunDir, inCgroups] = await Promise.all([
    namesIn(layout.runtimes),
    namesIn(layout.runDir, layout.runners),
    namesIn(...cgroups.hierarchies.map((point) => join(point, cgroupParent))),
  ])
  return { inState, inRunDir, inCgroups }
}

async function namesIn(...dirs: readonly string[]): Promise<ReadonlySet<RuntimeId>> {
  return new Set((await Promise.all(dirs.map(directoriesIn))).flat().filter(isRuntimeId))
}

async function directoriesIn(dir: string): Promise<string[]> {
  try {
    const entries = await readdir(dir, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return []
    throw error
  }
}
