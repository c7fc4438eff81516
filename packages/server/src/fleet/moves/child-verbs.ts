import { rankHosts } from '@holt/placement'
import { ForkRuntime } from '@holt/protocol'
import { z } from 'zod'
import { storeFiles } from '../../artifacts/artifacts.ts'
import { withFiles } from '../../artifacts/with-files.ts'
import type { HostDirectory } from '../../foundation/host/host-directory.ts'
import { readyHosts } from '../../foundation/host/ready-hosts.ts'
import { ownedBy } from '../../foundation/host/this-host.ts'
import { findRuntime, refOf } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { isRefusal } from '../../foundation/wire/placed-refusals.ts'
import { copyNetwork } from '../../resources/network/former-network.ts'
import type { MakeChildElsewhere } from '../../runtimes/forks/fork-hosts.ts'
import { makeChild } from '../../runtimes/forks/make-child.ts'
import type { Runtimes } from '../../runtimes/runtimes.ts'
import type { OpenPeers } from '../forwarding/open-peers.ts'
import { Unreachable } from '../peers/peer-links.ts'
import type { PeerVerbs } from '../peers/peer-verbs.ts'
import { childPath } from '../peers/verb-paths.ts'

/** The time for another host to make a child, in milliseconds. It fetches the checkpoint first. */
const childTimeoutMs = 600_000

/** The hosts that are asked for one child. */
const mostAsked = 3

const Id = z.string().max(64)

const Child = z.object({
  projectId: Id,
  parentId: Id,
  id: Id,
  checkpointId: Id,
  checkpointBytes: z.number(),
  request: ForkRuntime,
})
type Child = z.infer<typeof Child>

/**
 * Returns the verb by which a host makes a child of a runtime of another host, and owns it. The
 * checkpoint comes from that host or from the object store.
 */
export function childVerbs(service: Runtimes): PeerVerbs {
  return {
    [childPath]: async (question, signal) => {
      const { projectId, parentId, id, checkpointId, checkpointBytes, request } = Child.parse(question)
      const parent = await findRuntime(service, { projectId, runtimeId: parentId })
      const files = { holder: id, imageDigest: parent.image_digest, checkpointId, until: signal }
      await withFiles(service, files, async () => {
        const network = await copyNetwork(service, refOf(parent))
        await makeChild(service, parent, { id, checkpointId, checkpointBytes, request, network })
      })
    },
  }
}

/** Returns the function that lets other hosts make the children that this one has no room for. */
export function childrenElsewhere(service: Runtimes, peers: () => Pick<OpenPeers, 'ask'> | null): MakeChildElsewhere {
  return async (parent, { id, checkpointId, checkpointBytes, request }) => {
    const { thisHost, hosts, closing, artifacts } = service
    const ref = { projectId: parent.project_id, runtimeId: id }
    const candidates = childHosts(hosts, { parent, ownHostId: thisHost.hostId })
    if (candidates.length === 0) return null
    const signal = AbortSignal.any([closing, AbortSignal.timeout(childTimeoutMs)])
    await using _hold = await holdArtifact(service, { artifactId: checkpointId, holder: id })
    await storeFiles(artifacts, { imageDigest: parent.image_digest, checkpointId }, signal)
    let refusal: unknown = null
    for (const hostId of candidates.slice(0, mostAsked)) {
      const { project_id: projectId, runtime_id: parentId } = parent
      const question: Child = { projectId, parentId, id, checkpointId, checkpointBytes, request }
      try {
        await peers()?.ask(hostId, childPath, question, signal)
        return await findRuntime(service, ref)
      } catch (error) {
        refusal = error
        if (!hasMadeNothing(error)) break
      }
    }
    throw refusal
  }
}

/** Returns the hosts that may make a child: ready ones of the class of this host. */
function childHosts(
  hosts: HostDirectory,
  { parent, ownHostId }: { readonly parent: RuntimeRow; readonly ownHostId: string },
): readonly string[] {
  const classId = hosts.rows.find(({ host_id }) => host_id === ownHostId)?.class_id ?? null
  const fitting = readyHosts(hosts, ownHostId).filter(
    ({ host_id, class_id }) => host_id !== ownHostId && class_id === classId,
  )
  return rankHosts(
    parent.runtime_id,
    fitting.map(({ host_id }) => host_id),
  )
}

/** Returns true if a host has made nothing, so that another one may be asked. */
function hasMadeNothing(error: unknown): boolean {
  return isRefusal(error) || error instanceof Unreachable
}

/** Keeps an artifact in the object store until the result is disposed of, or this epoch is over. */
async function holdArtifact(
  { store, thisHost }: Runtimes,
  { artifactId, holder }: { readonly artifactId: string; readonly holder: string },
): Promise<AsyncDisposable> {
  await store.db
    .insertInto('artifact_holds')
    .values({ artifact_id: artifactId, holder, ...ownedBy(thisHost) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return {
    [Symbol.asyncDispose]: async () => {
      await store.db
        .deleteFrom('artifact_holds')
        .where('artifact_id', '=', artifactId)
        .where('holder', '=', holder)
        .execute()
    },
  }
}
