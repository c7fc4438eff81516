import type { EngineFacts } from '@holt/engine'
import { type CreateRuntime, HoltError } from '@holt/protocol'
import { attempt, type Refuse } from '../../foundation/errors/refuse.ts'
import { readableBy } from '../../foundation/rows/system-project.ts'
import type { SnapshotRow } from '../../foundation/store/tables.ts'
import { vendorPolicy } from '../../resources/agents/vendor-policy.ts'
import { caPurpose } from '../../resources/network/decide-network.ts'
import type { FormerNetwork } from '../../resources/network/former-network.ts'
import type { Runtimes } from '../runtimes.ts'
import { findSnapshot, requireWritten } from '../snapshots/find-snapshot.ts'
import { type SnapshotSettings, snapshotSettingsOf } from '../snapshots/snapshot-settings.ts'
import { type FoundSource, type RuntimeSource, requireIsolation } from './runtime-source.ts'

/** A create of a snapshot. */
interface SnapshotCreate<Refused extends null> {
  readonly reference: string
  readonly request: CreateRuntime
  readonly facts: EngineFacts
  readonly refuse: Refuse<Refused>
}

/**
 * Returns the source of a runtime from a snapshot. With memory, the runtime continues as it was, at
 * the snapshot's size. With files only, it boots in any class and size.
 */
export async function snapshotSource<Refused extends null>(
  service: Runtimes,
  projectId: string,
  { reference, request, facts, refuse }: SnapshotCreate<Refused>,
): Promise<FoundSource<Refused>> {
  const row = await attempt(refuse, async () => {
    const found = await findSnapshot(service.store.db, { projectId, reference })
    requireWritten(found)
    return found
  })
  if (row === null) return { source: row, isolation: row, defaultPolicy: null, former: null }
  if (row.kind === 'memory') await attempt(refuse, () => requireSameSize(row, request))
  const wanted =
    row.kind === 'memory' ? row.isolation : (request.isolation ?? service.config.isolation ?? row.isolation)
  const isolation = await attempt(refuse, () => requireIsolation(facts, wanted))
  const settings = snapshotSettingsOf(row)
  const source: RuntimeSource = {
    templateId: row.template_id,
    templateName: row.template_name,
    snapshotId: row.snapshot_id,
    parentId: null,
    isolation: wanted,
    imageDigest: row.image_digest,
    checkpointId: row.checkpoint_id,
    checkpointBytes: row.checkpoint_id === null ? null : row.size_bytes,
    restoreOnly: row.checkpoint_id !== null,
    renew: true,
    cpu: row.cpu,
    memoryMiB: row.memory_mib,
    diskMiB: row.disk_mib,
    env: settings.env,
    user: settings.user,
    workdir: settings.workdir,
    commands: settings.commands,
  }
  return {
    source,
    isolation,
    defaultPolicy: await defaultPolicyOf(service, row, request.secrets),
    former: await formerOf(service, row, settings),
  }
}

/**
 * Throws if a create asks for another size or class. Memory was written at one size, by one class.
 */
function requireSameSize(row: SnapshotRow, { cpu, memory, isolation }: CreateRuntime): void {
  const issues = [
    { pointer: '/cpu', asked: cpu, has: row.cpu, unit: '' },
    { pointer: '/memory', asked: memory, has: row.memory_mib, unit: ' MiB' },
    { pointer: '/isolation', asked: isolation, has: row.isolation, unit: '' },
  ]
    .filter(({ asked, has }) => asked !== undefined && asked !== has)
    .map(({ pointer, has, unit }) => ({ pointer, message: `must be ${has}${unit}, as the memory snapshot has it` }))
  if (issues.length === 0) return
  throw new HoltError('unsupported_setting', 'A memory snapshot fixes the size and the class of its runtimes.', {
    hint: 'Leave these fields out. A filesystem snapshot boots in any class, with any cpu and memory.',
    details: { issues },
  })
}

/** Returns the default policy of the snapshot's template, if the template still exists. */
async function defaultPolicyOf(service: Runtimes, row: SnapshotRow, secrets: readonly string[]) {
  const template = await service.store.db
    .selectFrom('templates')
    .selectAll()
    .where('project_id', 'in', readableBy(row.project_id))
    .where('template_id', '=', row.template_id)
    .executeTakeFirst()
  return template === undefined ? null : vendorPolicy(service, template, secrets)
}

/**
 * Returns the facts of the network that its programs know. Programs in memory know all of them.
 * Files may only contain the placeholders.
 */
async function formerOf(
  { store, sealedValues }: Runtimes,
  { kind, project_id: projectId, snapshot_id: ownerId }: SnapshotRow,
  { placeholders, addresses, caCertificate }: SnapshotSettings,
): Promise<FormerNetwork> {
  if (kind === 'filesystem') return { ca: null, placeholders, addresses: [] }
  const privateKeyPem = await sealedValues.read(store.db, { projectId, ownerId, purpose: caPurpose })
  const ca = caCertificate === null || privateKeyPem === null ? null : { certificatePem: caCertificate, privateKeyPem }
  return { ca, placeholders, addresses }
}
