import type { SandboxInside } from '@holt/e2b'
import type { GuestClient } from '@holt/guest-client'
import type { SandboxVisit } from '../sandbox/sandbox-visit.ts'
import { InsideVisit } from './inside-visit.ts'
import { sandboxFiles } from './sandbox-files.ts'
import { sandboxProcesses } from './sandbox-processes.ts'
import { sandboxUsage } from './sandbox-usage.ts'
import { sandboxWatches } from './sandbox-watches.ts'

/** Returns the inside of a runtime that runs, for one visit. `keep` counts bytes of its answer. */
export function insideOf(visit: SandboxVisit, guest: GuestClient, keep: (bytes: number) => boolean): SandboxInside {
  const inside = new InsideVisit(visit, guest)
  return {
    processes: sandboxProcesses(inside),
    files: sandboxFiles(inside, keep),
    watches: sandboxWatches(inside),
    variables: async () => JSON.parse(visit.row.env_json) as Record<string, string>,
    usage: () => sandboxUsage(visit),
  }
}
