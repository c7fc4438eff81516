import type { FleetHost } from '../../../e2e/support/fleet/fleet-host.ts'
import type { RoundsEntry } from '../../../packages/server/test/support/rounds/rounds-client.ts'

/**
 * The time for an answer, in milliseconds. A host that is cut off may not answer at all, and its
 * client goes on elsewhere.
 */
const answerMs = 8_000

/** Returns a host as the clients of one key reach it. */
export function entryOf(host: FleetHost, ownKey: string): RoundsEntry {
  return {
    server: {
      ask: async (method, path, { json, body, headers = {}, key = ownKey } = {}) => {
        const content = json === undefined ? body : JSON.stringify(json)
        const answer = await fetch(`${host.url}${path}`, {
          method,
          headers: {
            ...(key === null ? {} : { authorization: `Bearer ${key}` }),
            ...(json === undefined ? {} : { 'content-type': 'application/json' }),
            ...headers,
          },
          signal: AbortSignal.timeout(answerMs),
          ...(content === undefined ? {} : { body: content as string }),
        })
        const text = await answer.text()
        const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
        return { status: answer.status, headers: answer.headers, text, json: isJson ? JSON.parse(text) : undefined }
      },
    },
  }
}
