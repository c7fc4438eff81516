import { pageOf, Runtime } from '@holt/protocol'
import { send } from './http.ts'

/** Deletes every runtime of the service that has not ended, and waits until they are gone. */
export async function removeRuntimes({ url, key }: { readonly url: string; readonly key: string }): Promise<void> {
  const headers = { authorization: `Bearer ${key}` }
  for (const state of ['starting', 'running', 'terminating', 'failed']) {
    for (;;) {
      const answer = await send(url, { method: 'GET', target: `/v1/agents/runtime?limit=100&state=${state}`, headers })
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
      if (next_cursor === null) break
    }
  }
}
