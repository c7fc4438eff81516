import { readFile, rm, rmdir, writeFile } from 'node:fs/promises'
import { directoryId } from '../host/claim-installation.ts'
import { type Layout, layoutOf } from '../layout.ts'
import type { HostEngineOptions } from '../options.ts'
import { hasCode } from '../tools/durable-files.ts'

/**
 * Whether all that carries a runtime's name in the run directory is this installation's: its mark
 * is there from a time when nothing of others was, and one engine at a time works there.
 */
export async function ownsRunDir(layout: Layout, installationId: string): Promise<boolean> {
  try {
    return (await readFile(layout.runDirOwner, 'utf8')) === (await markOf(layout, installationId))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
}

/** Marks the run directory as this installation's, where nothing of others is in it. */
export async function ownRunDir(layout: Layout, installationId: string): Promise<void> {
  if (await ownsRunDir(layout, installationId)) return
  // Another's mark would be wrong from now on, also where a new one cannot be written.
  await disownRunDir(layout)
  await writeFile(layout.runDirOwner, await markOf(layout, installationId), { mode: 0o600 })
}

/** Takes the mark away, so that nobody takes what is there for his own. */
export async function disownRunDir(layout: Layout): Promise<void> {
  await rm(layout.runDirOwner, { force: true })
}

/**
 * Removes the run directory of an installation that has no runtimes any more and is not open. What
 * is of others stays, and the directory with it.
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

/** A copy of the state has the same id, in another directory. */
async function markOf({ stateDir }: Layout, installationId: string): Promise<string> {
  return `${installationId} ${await directoryId(stateDir)}\n`
}
