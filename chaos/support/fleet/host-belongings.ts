import { dirname, join } from 'node:path'
import type { FleetHost } from '../../../e2e/support/fleet/fleet-host.ts'
import { type Belongings, listBelongings } from '../../../e2e/support/leaks.ts'

/** Lines about things that a host keeps on purpose, or that come and go while it works. */
const kept = /^(?:file (?:images|checkpoints)\/|file (?!runtimes\/)|descriptor |temporary |run \.runner$)/

/**
 * Lists the processes, mounts, loop devices, cgroups and files of runtimes that belong to a host.
 * Its copies of images and checkpoints are not among them.
 */
export function belongingsOf({ stateDir, installationId }: FleetHost): Belongings {
  const installation = { stateDir, runDir: join('/run/holt', installationId), installationId }
  const lane = { number: 0, stateDir, temporaryDir: join(dirname(stateDir), 'tmp'), rigDir: '' }
  return listBelongings(installation, lane).filter((line) => !kept.test(line))
}
