import { readFile, rm, rmdir, writeFile } from 'node:fs/promises'
import { hasCode } from '../files/durable-files.ts'
import { directoryId } from './claim-installation.ts'
import { type Layout, layoutOf } from './layout.ts'
import type { HostEngineOptions } from './options.ts'

/**
 * Returns true if every runtime in the run directory belongs to this installation. The mark was
 * written when the directory held no foreign runtimes, and one engine at a time works there.
 */
export async function ownsRunDir(layout: Layout, installationId: string): Promise<boolean> {
  try {
    return (await readFile(layout.runDirOwner, 'utf8')) === (await markOf(layout, installationId))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
}

/** Marks the run directory as this installation's. Requires that no foreign runtimes are in it. */
export async function ownRunDir(layout: Layout, installationId: string): Promise<void> {
  if (await ownsRunDir(layout, installationId)) return
  // A foreign mark would be wrong from now on, even if a new one cannot be written.
  await disownRunDir(layout)
  await writeFile(layout.runDirOwner, await markOf(layout, installationId), { mode: 0o600 })
}

/** Removes the mark, so that no installation takes the contents for its own. */
export async function disownRunDir(layout: Layout): Promise<void> {
  await rm(layout.runDirOwner, { force: true })
}

/**
 * Removes the run directory of an installation that is not open and has no runtimes. Foreign
 * content stays, and with it the directory.
 */
export async function removeRunDir({
  stateDir,
  runDir,
}: Pick<HostEngineOptions, 'stateDir' | 'runDir'>): Promise<void> {
  const layout = layoutOf(stateDir, runDir)
  await disownRunDir(layout)
  for (const dir of [layout.runners, layout.runDir]) {
    await rmdir(dir).catch((error) => {
      if (!hasCode(error, 'ENOTEMPTY', 'ENOENT')) throw error
    })
  }
}

/**
 * Returns the mark of an installation. A copy of the state has the same id, but another directory.
 */
async function markOf({ stateDir }: Layout, installationId: string): Promise<string> {
  return `${installationId} ${await directoryId(stateDir)}\n`
}
