import { rankHosts } from '@holt/placement'
import { HoltError } from '@holt/protocol'
import { z } from 'zod'
import type { HostDirectory } from '../../foundation/host/host-directory.ts'
import { readyHosts } from '../../foundation/host/ready-hosts.ts'
import { storedJson } from '../../foundation/store/stored-json.ts'
import type { HostRow } from '../../foundation/store/tables.ts'
import { Refusals } from '../../foundation/wire/placed-refusals.ts'
import type { Ways } from './placer.ts'

/** The isolation classes in the description of a host. */
const Described = z.object({ isolation: z.record(z.string(), z.object({ available: z.boolean() })) })

/** The hosts for a build. */
interface BuildHosts {
  readonly hosts: HostDirectory
  readonly ownHostId: string
  /** The key by which the hosts are ranked. */
  readonly homeKey: string
}

/**
 * Starts a build on the first host of the ranking of its key. A host that refuses is left out, and
 * the next one is tried, three at most. Throws the last refusal, or `unavailable` if no host is
 * ready for builds.
 */
export async function placeBuild<Result>(build: BuildHosts, { here, there }: Ways<Result>): Promise<Result> {
  const refusals = new Refusals()
  for (;;) {
    const [hostId] = buildHosts(build, refusals.hostIds)
    if (hostId === undefined || refusals.left === 0) throw refusals.last ?? noBuilder(build)
    try {
      return await (hostId === build.ownHostId ? here() : there(hostId))
    } catch (error) {
      refusals.note(hostId, error)
    }
  }
}

/** Returns the ready hosts that can run a build, the best first. */
export function buildHosts(
  { hosts, ownHostId, homeKey }: BuildHosts,
  refused: ReadonlySet<string> = new Set(),
): readonly string[] {
  const able = readyHosts(hosts, ownHostId).filter((row) => !refused.has(row.host_id) && canBuild(row))
  return rankHosts(
    homeKey,
    able.map(({ host_id }) => host_id),
  )
}

/** Returns false if a host has said that it has no class of isolation. */
function canBuild({ facts_json }: HostRow): boolean {
  const described = Described.safeParse(storedJson(facts_json))
  return !described.success || Object.values(described.data.isolation).some(({ available }) => available)
}

function noBuilder({ hosts, ownHostId }: BuildHosts): HoltError {
  if (readyHosts(hosts, ownHostId).length > 0)
    return new HoltError(
      'not_supported_here',
      'No ready host of the fleet can run builds: no class of isolation is available.',
    )
  return new HoltError('unavailable', 'No host of the fleet is ready for builds.', {
    details: { reason: 'no_ready_host', retry_after_secs: 5 },
  })
}
