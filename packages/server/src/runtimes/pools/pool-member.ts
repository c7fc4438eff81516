import { randomBytes } from 'node:crypto'
import { type ApplicationCommands, runTemplateCommand, startApplication, templateCommand } from '@holt/builder'
import { failpoint } from '@holt/failpoints'
import { GuestClient } from '@holt/guest-client'
import { HoltError, makeId } from '@holt/protocol'
import { fetchFiles } from '../../artifacts/artifacts.ts'
import { pidsMax } from '../../foundation/config/pids-max.ts'
import { ownedBy } from '../../foundation/host/this-host.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Runtimes } from '../runtimes.ts'
import type { PoolShape } from './pool-shape.ts'

/**
 * The time limit of the first command, in milliseconds. It does nothing and takes some
 * milliseconds.
 */
const firstCommandTimeoutMs = 10_000

/** The time for the application of a member to be ready, in milliseconds. */
const readyTimeoutMs = 90_000

/** The time limit for the removal of a member, in milliseconds. */
const removeTimeoutMs = 60_000

/** A runtime that waits in a pool. It is frozen, and its guest is connected and has no owner. */
export interface PoolMember {
  readonly runtimeId: string
  readonly shape: PoolShape
  /** Milliseconds since 1970 UTC. */
  readonly madeAt: number
  /** The machine id that it already has. Null if that is unknown. */
  readonly machineId: string | null
}

/**
 * Creates a pool member. Its row exists first, so that the next start finds it after a crash. Does
 * all the work of a claim that does not depend on the create.
 */
export async function makeMember(service: Runtimes, shape: PoolShape, signal: AbortSignal): Promise<PoolMember> {
  const runtimeId = makeId('runtime')
  const member = { runtimeId, shape, madeAt: service.now(), machineId: randomBytes(16).toString('hex') }
  try {
    await storeMember(service, member)
    await failpoint('pool.noted')
    await fetchFiles(service.artifacts, shape, signal)
    const { templateId: _, startsLike: _like, ...made } = shape
    await service.engine.ensure({ id: runtimeId, ...made, pidsMax }, signal)
    await failpoint('pool.ensured')
    const guest = new GuestClient(await service.engine.dial(runtimeId, signal))
    await prepare(guest, { ...member, settings: await settingsOf(service, shape) }, signal)
    await failpoint('pool.prepared')
    await settle(service, runtimeId, signal)
    await failpoint('pool.frozen')
    await service.store.change(
      aloneWithRow,
      (changes) =>
        changes.updateTable('pool_members').set({ state: 'ready' }).where('runtime_id', '=', runtimeId).execute(),
      { durable: 'later' },
    )
    await failpoint('pool.ready')
    return member
  } catch (error) {
    await removeMember(service, runtimeId)
    throw error
  }
}

/** The settings and the application of a member before it has an owner. */
interface MemberSettings {
  readonly env: Readonly<Record<string, string>>
  readonly user: string
  readonly workdir: string
  readonly application: ApplicationCommands | null
}

/** Returns the settings of a template whose application its members start, and none for others. */
async function settingsOf({ store }: Runtimes, { templateId, startsLike }: PoolShape): Promise<MemberSettings> {
  const none = { env: {}, user: '', workdir: '/', application: null }
  if (startsLike === null) return none
  const template = await store.db
    .selectFrom('templates')
    .select(['env_json', 'user', 'workdir', 'start_cmd', 'ready_cmd'])
    .where('template_id', '=', templateId)
    .where('checkpoint_id', '=', startsLike)
    .executeTakeFirst()
  if (template === undefined || template.start_cmd === null) return none // The pool gets another shape.
  const { env_json, user, workdir, start_cmd: startCmd, ready_cmd: readyCmd } = template
  return { env: JSON.parse(env_json), user, workdir, application: { startCmd, readyCmd, readyTimeoutMs } }
}

/**
 * Sets the default names and the limits of a member, and runs a first command, because the first
 * one is slow. Starts its application, if it has one.
 */
async function prepare(
  guest: GuestClient,
  {
    runtimeId,
    shape,
    machineId,
    settings: { env, user, workdir, application },
  }: Pick<PoolMember, 'runtimeId' | 'shape'> & { machineId: string; settings: MemberSettings },
  signal: AbortSignal,
): Promise<void> {
  const ownsKernel = shape.isolation === 'gvisor'
  await guest.seed(
    {
      ...{ env, user, workdir },
      pids_max: ownsKernel ? pidsMax : null,
      network: null,
      names: { hostname: runtimeId, machine_id: machineId, set_hostname: ownsKernel },
    },
    signal,
  )
  const first = templateCommand('true', { transient: true, timeout_ms: firstCommandTimeoutMs })
  await runTemplateCommand(guest, first, signal).catch((error) => {
    if (!(error instanceof HoltError) || error.status >= 500) throw error // An image without a shell.
  })
  if (application !== null) await startApplication(guest, application, { signal })
}

/**
 * Freezes a member after its guest has connected without an owner. Rejects if the guest has an
 * owner or does not answer.
 */
export async function settle({ engine }: Runtimes, runtimeId: string, signal: AbortSignal): Promise<void> {
  const guest = new GuestClient(await engine.dial(runtimeId, signal))
  const info = await guest.info(signal)
  if (info.runtime_id !== null) throw new Error(`the pooled runtime ${runtimeId} is bound as ${info.runtime_id}`)
  await engine.ability('freezer')?.freeze(runtimeId)
}

/** Removes a member, and then its row. A missing member is success. */
export async function removeMember({ engine, store }: Runtimes, runtimeId: string): Promise<void> {
  await engine.remove(runtimeId, AbortSignal.timeout(removeTimeoutMs))
  await failpoint('pool.removed')
  await store.change(
    aloneWithRow,
    (changes) => changes.deleteFrom('pool_members').where('runtime_id', '=', runtimeId).execute(),
    {
      durable: 'later',
    },
  )
}

async function storeMember({ store, thisHost }: Runtimes, { runtimeId, shape, madeAt }: PoolMember): Promise<void> {
  const row = {
    runtime_id: runtimeId,
    template_id: shape.templateId,
    isolation: shape.isolation,
    image_digest: shape.imageDigest,
    checkpoint_id: shape.checkpointId,
    cpu: shape.cpu,
    memory_mib: shape.memoryMiB,
    disk_mib: shape.diskMiB,
    state: 'making',
    created_at: madeAt,
    ...ownedBy(thisHost),
  } as const
  await store.change(aloneWithRow, (changes) => changes.insertInto('pool_members').values(row).execute())
}
