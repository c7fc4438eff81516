import { createHash } from 'node:crypto'
import { makeEffectivePolicy } from '@holt/egress'
import { type CreateBuild, HoltError, type PolicyBody, systemTemplateSizes } from '@holt/protocol'
import { choosePolicy } from '../resources/network/decide-network.ts'
import { findTemplate } from '../resources/templates/find-template.ts'
import { admit, requirePossibleDisk } from '../runtimes/admission/admit.ts'
import type { Size } from '../runtimes/admission/decide-size.ts'
import { findSnapshot, requireWritten } from '../runtimes/snapshots/find-snapshot.ts'
import { requireReachable } from './bring-context.ts'
import type { Builds } from './builds.ts'
import { findContext } from './find-context.ts'

/** A checked request of a build, with the resources that it needs. */
export interface PreparedBuild {
  readonly request: CreateBuild
  readonly size: Size
  /** The network policy of its steps. Null: no network. */
  readonly policy: PolicyBody | null
  /** The key of the policy. Policies that allow the same have equal keys. */
  readonly policyKey: string
}

/** The ports of the public Internet for software: web, SSH, Git, rsync and keys. */
const publicPorts = [80, 443, 22, 873, 8080, 8443, 9418, 11371]

/** The default network of a build. The gateway refuses private addresses under every policy. */
const publicInternet: PolicyBody = {
  allow: [{ host: '*', ports: publicPorts }],
  include: [],
  allow_all_hosts: true,
  deny: [],
}

/** The default size of a build's runtimes, which is that of the default template. */
const [{ cpu: defaultCpu, memoryMiB: defaultMemoryMiB, diskMiB: defaultDiskMiB }] = systemTemplateSizes

/** Checks the request of a build before it is queued, and throws if it can never succeed. */
export async function prepareBuild(service: Builds, projectId: string, request: CreateBuild): Promise<PreparedBuild> {
  const { engine, config, store } = service
  const facts = await engine.describe()
  if (!Object.values(facts.isolation).some(({ available }) => available))
    throw new HoltError('not_supported_here', 'This host cannot run builds: no class of isolation is available.')
  const size = {
    cpu: request.cpu ?? defaultCpu,
    memoryMiB: request.memory ?? defaultMemoryMiB,
    diskMiB: request.disk ?? defaultDiskMiB,
  }
  requirePossibleDisk(request.disk, { hostDiskMiB: facts.diskMiB, reserve: config.reserve })
  admit({
    hostMemoryMiB: facts.memoryMiB,
    diskFreeMiB: facts.diskFreeMiB,
    freeMemoryMiB: null,
    promisedMiB: 0,
    starting: 0,
    overcommit: config.memoryOvercommit,
    reserve: config.reserve,
    memoryMiB: size.memoryMiB,
  })
  if (request.from_template !== undefined) await findTemplate(service, { projectId, reference: request.from_template })
  if (request.from_snapshot !== undefined) await requireFiles(service, projectId, request.from_snapshot)
  if (request.context_id !== undefined)
    await requireReachable(service, await findContext(store.db, { projectId, contextId: request.context_id }))
  const policy = await policyOf(service, projectId, request)
  return { request, size, policy, policyKey: policy === null ? 'none' : keyOf(policy) }
}

/** Refuses a memory snapshot as the base of a build. Only a filesystem snapshot has an image. */
async function requireFiles({ store }: Builds, projectId: string, reference: string): Promise<void> {
  const snapshot = await findSnapshot(store.db, { projectId, reference })
  if (snapshot.kind === 'memory')
    throw new HoltError('unsupported_setting', 'A template can be built from a filesystem snapshot only.', {
      hint: 'Take a snapshot of the kind `filesystem`.',
      details: { issues: [{ pointer: '/from_snapshot', message: 'names a memory snapshot' }] },
    })
  requireWritten(snapshot)
}

async function policyOf({ store }: Builds, projectId: string, { network_policy }: CreateBuild) {
  if (network_policy === undefined) return publicInternet
  return network_policy === null ? null : (await choosePolicy(store.db, projectId, network_policy)).body
}

/**
 * Returns a key that is equal for policies with the same rules, in any order and under any name.
 */
function keyOf(policy: PolicyBody): string {
  const { rules, deny } = makeEffectivePolicy(policy)
  const parts = [...rules.map(({ name: _, ...rule }) => JSON.stringify(rule)), ...deny]
  return createHash('sha256').update(JSON.stringify(parts.sort())).digest('hex')
}
