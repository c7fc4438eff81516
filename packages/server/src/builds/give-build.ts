import { CreateBuild, HoltError } from '@holt/protocol'
import { ownedBy } from '../foundation/host/this-host.ts'
import type { BuildUnderWay } from './build-under-way.ts'
import type { Builds } from './builds.ts'
import { enqueue, fingerprintOf, requireRoom } from './create-build.ts'
import { requestBody } from './kept-request.ts'
import { prepareBuild } from './prepare-build.ts'

/** A queued build on its way to another host, with the secrets of its request. */
export interface GivenBuild {
  readonly projectId: string
  readonly buildId: string
  /** The host that gives it. */
  readonly hostId: string
  /** The body of its request. */
  readonly request: Readonly<Record<string, unknown>>
  /** Null for a template of a project. */
  readonly recipeDigest: string | null
}

/** Returns what another host needs to run a queued build of this one. */
export function givenBuild({ thisHost }: Builds, build: BuildUnderWay): GivenBuild {
  const { projectId, buildId, recipeDigest, prepared } = build
  return { projectId, buildId, hostId: thisHost.hostId, request: requestBody(prepared.request), recipeDigest }
}

/**
 * Takes a queued build of another host: it waits in the queue of this one. Throws if this host
 * cannot run it now, or if it is not queued there any more.
 */
export async function takeBuild(service: Builds, given: GivenBuild): Promise<void> {
  const { projectId, buildId, hostId, recipeDigest } = given
  const { leaving, store, thisHost } = service
  if (leaving.isDraining) throw new HoltError('capacity_exhausted', 'The host is drained and takes no builds.')
  const prepared = await prepareBuild(service, projectId, CreateBuild.parse(given.request))
  requireRoom(service, projectId)
  const row = await store.db
    .updateTable('builds')
    .set(ownedBy(thisHost))
    .where('project_id', '=', projectId)
    .where('build_id', '=', buildId)
    .where('host_id', '=', hostId)
    .where('status', '=', 'queued')
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) throw new HoltError('conflict', 'The build does not wait at that host any more.')
  const fingerprint = fingerprintOf({ prepared, kind: recipeDigest === null ? 'custom' : 'agent' })
  enqueue(service, { row, prepared, fingerprint, recipeDigest })
}
