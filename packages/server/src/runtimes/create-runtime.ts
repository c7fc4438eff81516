import type { EngineFacts, Isolation } from '@holt/engine'
import { type CreateRuntime, HoltError } from '@holt/protocol'
import { imageToUse } from '../agents/pull-agent-template.ts'
import { vendorPolicy } from '../agents/vendor-policy.ts'
import { recordEvent } from '../events/record-event.ts'
import { type DecidedNetwork, decideNetwork, storeNetwork } from '../network/decide-network.ts'
import type { Service } from '../service.ts'
import type { Queries } from '../store/open-store.ts'
import type { NewRuntimeRow, RuntimeRow, TemplateRow } from '../store/tables.ts'
import { findTemplate, templateName } from '../templates/find-template.ts'
import { commandsOf } from '../templates/start-command.ts'
import { admit } from './admit.ts'
import { decideSize, type Size } from './decide-size.ts'
import { promisedMiB } from './promised.ts'
import { startRuntime } from './start-runtime.ts'
import { endedStates } from './states.ts'

/** How often a create looks again at a template that changed under it. */
const maxTries = 5

/** Whose runtime, under which id, as asked for. */
export interface Creation {
  readonly projectId: string
  readonly runtimeId: string
  readonly request: CreateRuntime
}

/**
 * Creates a runtime: decide everything that can be decided without the engine, write the row, start it, answer it running.
 * Until the row is written nothing exists; from then on the row says what became of it.
 */
export async function createRuntime(service: Service, creation: Creation): Promise<RuntimeRow> {
  requirePlace(service, creation.request)
  const earlier = await findEarlier(service, creation)
  if (earlier !== null) return earlier
  for (let tries = 0; ; tries += 1) {
    const { row, template } = await reserveRuntime(service, creation)
    if (row !== null)
      return startRuntime(service, row, { env: JSON.parse(template.env_json), commands: commandsOf(template) })
    if (tries >= maxTries) throw new HoltError('conflict', 'The template changes all the time.')
  }
}

/** Decides all of a runtime and writes its row; null where its template was built anew in between, so that its image may be gone. */
async function reserveRuntime(
  service: Service,
  creation: Creation,
): Promise<{ row: RuntimeRow | null; template: TemplateRow }> {
  const { request } = creation
  const [facts, template] = await Promise.all([
    service.engine.describe(),
    findTemplate(service, { projectId: creation.projectId, reference: request.template }),
  ])
  const isolation = decideIsolation(service, facts, request)
  const size = decideSize(request, template)
  const { network_policy = vendorPolicy(service, template, request.secrets) } = request
  const network = await decideNetwork(service, creation.projectId, { ...request, network_policy })
  const imageDigest = await imageToUse(service, template)
  const row = newRow(service, creation, { template, isolation, size, imageDigest })
  const freeMemoryMiB = await service.freeMemoryMiB()
  return { row: await reserve(service, row, { facts, freeMemoryMiB, network }), template }
}

/** The runtime of an earlier try under the same id, where that one came to its end and only the answer was lost. */
async function findEarlier({ store }: Service, { projectId, runtimeId }: Creation): Promise<RuntimeRow | null> {
  const row = await store.db
    .selectFrom('runtimes')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('runtime_id', '=', runtimeId)
    .executeTakeFirst()
  if (row === undefined) return null
  if (row.state === 'running') return row
  throw new HoltError('unavailable', 'The service stopped while it made this runtime.', {
    hint: 'Send it again under another Idempotency-Key.',
  })
}

function requirePlace({ config }: Service, { cloud, region }: CreateRuntime): void {
  for (const [name, asked, served] of [
    ['cloud', cloud, config.cloud],
    ['region', region, config.region],
  ] as const) {
    if (asked === undefined || asked === served) continue
    throw new HoltError('unsupported_setting', `This server serves the ${name} ${served} only.`, {
      details: { issues: [{ pointer: `/${name}`, message: `must be ${served}` }] },
    })
  }
}

function decideIsolation({ config }: Service, facts: EngineFacts, request: CreateRuntime): Isolation {
  const isolation = request.isolation ?? config.isolation ?? 'gvisor'
  const fact = facts.isolation[isolation]
  if (fact.available) return isolation
  throw new HoltError(
    'not_supported_here',
    `The isolation ${isolation} is not available on this host: ${fact.reason}`,
    {
      details: { isolation },
      ...(fact.fix === null ? {} : { hint: fact.fix }),
    },
  )
}

interface Decided {
  readonly template: TemplateRow
  readonly isolation: Isolation
  readonly size: Size
  readonly imageDigest: string
}

function newRow(
  { now }: Service,
  { projectId, runtimeId, request }: Creation,
  { template, isolation, size, imageDigest }: Decided,
): NewRuntimeRow {
  const at = now()
  // A checkpoint holds the memory and the processors of its runtime, so it fits that size only.
  const fits = isolation === 'gvisor' && size.cpu === template.cpu && size.memoryMiB === template.memory_mib
  return {
    runtime_id: runtimeId,
    project_id: projectId,
    name: request.name ?? null,
    state: 'starting',
    state_reason_json: null,
    template_id: template.template_id,
    template_name: templateName(template),
    image_digest: imageDigest,
    checkpoint_id: fits ? template.checkpoint_id : null,
    isolation,
    cpu: size.cpu,
    memory_mib: size.memoryMiB,
    disk_mib: size.diskMiB,
    env_json: JSON.stringify(request.env),
    metadata_json: JSON.stringify(request.metadata),
    user: template.user,
    workdir: template.workdir,
    timeout_secs: request.timeout_secs,
    on_timeout: request.on_timeout,
    expires_at: request.timeout_secs === null ? null : at + request.timeout_secs * 1000,
    created_at: at,
    started_at: null,
    ended_at: null,
    updated_at: at,
    revision: 1,
  }
}

/** Writes the row if its name is free and the host has room, as one transaction. Null where its template is another one by now. */
async function reserve(
  service: Service,
  row: NewRuntimeRow,
  { facts, freeMemoryMiB, network }: { facts: EngineFacts; freeMemoryMiB: number | null; network: DecidedNetwork },
): Promise<RuntimeRow | null> {
  const { store, starts, config } = service
  return store.change(async (changes) => {
    if (!(await isCurrent(changes, row))) return null
    const { name } = row
    if (name !== null && name !== undefined) {
      const taken = await changes
        .selectFrom('runtimes')
        .select('runtime_id')
        .where('project_id', '=', row.project_id)
        .where('name', '=', name)
        .where('state', 'not in', endedStates)
        .executeTakeFirst()
      if (taken !== undefined)
        throw new HoltError('name_taken', `A runtime named ${name} exists.`, {
          details: { runtime_id: taken.runtime_id },
        })
    }
    admit({
      hostMemoryMiB: facts.memoryMiB,
      diskFreeMiB: facts.diskFreeMiB,
      freeMemoryMiB,
      promisedMiB: await promisedMiB(changes),
      starting: starts.size,
      overcommit: config.memoryOvercommit,
      memoryMiB: row.memory_mib,
    })
    const stored = await changes.insertInto('runtimes').values(row).returningAll().executeTakeFirstOrThrow()
    const ref = { projectId: row.project_id, runtimeId: row.runtime_id }
    await storeNetwork(service, changes, { ref, network, at: row.created_at })
    await recordEvent(changes, {
      projectId: row.project_id,
      type: 'runtime.starting',
      subjectId: row.runtime_id,
      data: { from: null, to: 'starting', reason: null },
      at: row.created_at,
    })
    return stored
  })
}

/** Whether a row's template still has the image and the checkpoint that were chosen. What it has now is kept for as long as the row is there. */
async function isCurrent(changes: Queries, row: NewRuntimeRow): Promise<boolean> {
  const template = await changes
    .selectFrom('templates')
    .select(['image_digest', 'checkpoint_id'])
    .where('project_id', '=', row.project_id)
    .where('template_id', '=', row.template_id)
    .executeTakeFirst()
  return (
    template?.image_digest === row.image_digest &&
    (row.checkpoint_id === null || row.checkpoint_id === template.checkpoint_id)
  )
}
