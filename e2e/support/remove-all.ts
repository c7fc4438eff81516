import { pageOf, Runtime, runtimeStates } from '@holt/protocol'
import { z } from 'zod'
import { send } from './http.ts'

/** A service and a key of it. */
interface Service {
  readonly url: string
  readonly key: string
}

/**
 * Deletes every runtime of the service that has not ended, waits until they are gone, and deletes
 * every snapshot and every secret.
 */
export async function removeAll(service: Service): Promise<void> {
  await removeRuntimes(service)
  await removeListed(service, '/v1/agents/snapshot', 'snapshot_id')
  await removeListed(service, '/v1/agents/secret', 'secret_id')
}

async function removeRuntimes({ url, key }: Service): Promise<void> {
  const headers = { authorization: `Bearer ${key}` }
  for (const state of runtimeStates.filter((one) => one !== 'terminated')) {
    // By the cursor: one that has failed stays in the list when it is deleted.
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query = `limit=100&state=${state}${cursor === '' ? '' : `&cursor=${cursor}`}`
      const answer = await send(url, { method: 'GET', target: `/v1/agents/runtime?${query}`, headers })
      const { data, next_cursor } = pageOf(Runtime).parse(JSON.parse(answer.bytes.toString()))
      await Promise.all(
        data.map(async ({ runtime_id }) => {
          const { status, bytes } = await send(url, {
            method: 'DELETE',
            target: `/v1/agents/runtime/${runtime_id}`,
            headers,
          })
          if (status !== 204) throw new Error(`cannot delete ${runtime_id}: ${status} ${bytes.toString()}`)
        }),
      )
      cursor = next_cursor
    }
  }
}

async function removeListed({ url, key }: Service, path: string, id: 'snapshot_id' | 'secret_id'): Promise<void> {
  const headers = { authorization: `Bearer ${key}` }
  for (;;) {
    const { bytes } = await send(url, { method: 'GET', target: `${path}?limit=100`, headers })
    const { data } = pageOf(z.looseObject({ [id]: z.string() })).parse(JSON.parse(bytes.toString()))
    if (data.length === 0) return
    for (const one of data) {
      const answer = await send(url, { method: 'DELETE', target: `${path}/${one[id]}`, headers })
      if (answer.status !== 204) throw new Error(`cannot delete ${one[id]}: ${answer.bytes.toString()}`)
    }
  }
}
