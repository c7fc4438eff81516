import { HoltError } from '@holt/protocol'
import { idNotFound } from '../../foundation/errors/not-found.ts'
import { isJudged } from '../../foundation/host/host-row.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { HostRow, HostWish } from '../../foundation/store/tables.ts'
import type { Answer } from '../../foundation/wire/call.ts'
import { recordHostState, recordHostWish } from '../../tenancy/events/record-host-event.ts'
import type { Api, Handlers } from '../api.ts'
import { requireFleet } from './require-fleet.ts'

/** The routes by which an operator changes the hosts of a fleet. */
export const hostChangeHandlers = {
  cordonHost: ({ service, params }) => want(service, params.host_id, 'cordoned'),
  uncordonHost: ({ service, params }) => want(service, params.host_id, 'ready'),
  loseHost: async ({ service, params, body }) => {
    const { host_id: hostId, epoch, state } = await findHost(service, params.host_id)
    if (isJudged({ state })) return { status: 204 }
    if (hostId === service.thisHost.hostId)
      throw new HoltError('conflict', 'The host that answers cannot be lost. Send the request to another host.')
    if (service.hosts.silentMs(hostId) === null && !body.force)
      throw new HoltError('conflict', 'The host is heard of. Set force if its power is off.')
    // Loaded here: a machine that is in no fleet loads nothing of it.
    const { declaredLost, passVerdict } = await import('../../fleet/hosts/verdict.ts')
    if (!(await passVerdict(service, { hostId, epoch, beat: null, reason: declaredLost })))
      throw new HoltError('conflict', 'The host has started again meanwhile.')
    return { status: 204 }
  },
  forgetHost: async ({ service, params }) => {
    const { host_id: hostId, epoch, state, trust } = await findHost(service, params.host_id)
    if (state === 'gone') {
      // The role may have stayed if an earlier request broke off.
      if (trust === 'worker') await closeDatabase(service, hostId)
      return { status: 204 }
    }
    if (state !== 'lost') throw new HoltError('conflict', `The host is ${state}. Declare it lost first.`)
    const forgotten = await service.store.change(aloneWithRow, async (changes) => {
      const stored = await changes
        .updateTable('hosts')
        .set({ state: 'gone', wanted: 'gone' })
        .where('host_id', '=', hostId)
        .where('epoch', '=', epoch)
        .where('state', '=', 'lost')
        .returning('host_id')
        .executeTakeFirst()
      if (stored !== undefined)
        await recordHostState(changes, { hostId, at: service.now() }, { from: 'lost', to: 'gone' })
      return stored
    })
    if (forgotten === undefined) throw new HoltError('conflict', 'The host has started again meanwhile.')
    if (trust === 'worker') await closeDatabase(service, hostId)
    return { status: 204 }
  },
} satisfies Partial<Handlers>

/** Removes the role of a worker in the database, with its connections. */
async function closeDatabase({ store }: Api, hostId: string): Promise<void> {
  const { dropWorkerRole } = await import('../../fleet/trust/worker-role.ts')
  await dropWorkerRole(store, hostId)
}

/** Stores what an operator wants of a host. The host follows with its next beat. */
async function want(service: Api, id: string, wanted: HostWish): Promise<Answer> {
  const { host_id: hostId, state, wanted: before } = await findHost(service, id)
  if (state === 'gone') throw new HoltError('conflict', 'The host has left the fleet.')
  await service.store.change(aloneWithRow, async (changes) => {
    const stored = await changes
      .updateTable('hosts')
      .set({ wanted, drain_until: null })
      .where('host_id', '=', hostId)
      .where('state', '!=', 'gone')
      .returning('host_id')
      .executeTakeFirst()
    if (stored !== undefined && wanted !== before)
      await recordHostWish(changes, { hostId, at: service.now() }, { wanted })
  })
  return { status: 204 }
}

/** Returns a host of the fleet. */
export async function findHost(service: Api, id: string): Promise<HostRow> {
  requireFleet(service)
  const row = await service.store.db.selectFrom('hosts').selectAll().where('host_id', '=', id).executeTakeFirst()
  if (row === undefined) throw idNotFound('host_not_found', id)
  return row
}
