import type { FleetHost } from '../../../e2e/support/fleet/fleet-host.ts'
import { vouchHeaders } from '../../../packages/server/src/fleet/forwarding/vouch-headers.ts'
import type { RoundsEntry } from '../../../packages/server/test/support/rounds/rounds-client.ts'

/**
 * The time for an answer, in milliseconds. A host that is cut off may not answer at all, and its
 * client goes on elsewhere.
 */
const answerMs = 8_000

/** The time for the answer of a host that works, on a slow machine. */
const patientMs = 120_000

/** The times that a request is sent to a host that works. */
const tries = 4

/**
 * Returns a host that works, as the clients of one key reach it. A request whose connection was
 * closed meanwhile is sent again, so each must be one that may be repeated.
 */
export function patientEntryOf(host: FleetHost, ownKey: string): RoundsEntry {
  const { server } = entryOf(host, ownKey, patientMs)
  return {
    server: {
      ask: async (...asked) => {
        for (let left = tries; left > 1; left -= 1) {
          const answer = await server.ask(...asked).catch(() => null) // An idle connection has ended.
          if (answer !== null) return answer
        }
        return server.ask(...asked)
      },
    },
  }
}

/**
 * The headers of a message between hosts, with the rights of another project. A host that heard
 * them from a client would answer as to that project.
 */
const forged = vouchHeaders({
  vouch: {
    requestId: 'forged',
    address: '203.0.113.9',
    isSecure: true,
    caller: {
      projectId: 'prforged',
      keyId: 'keforged',
      keyVersion: 1,
      keyName: 'forged',
      scopes: new Set(['admin'] as const),
    },
    visit: null,
  },
  owned: { type: 'host', projectId: 'prforged', id: 'hoforged' },
  deadlineMs: 1,
})

/** Returns a host as the clients of one key reach it. */
export function entryOf(host: FleetHost, ownKey: string, timeoutMs = answerMs): RoundsEntry {
  return {
    server: {
      ask: async (method, path, { json, body, headers = {}, key = ownKey } = {}) => {
        const content = json === undefined ? body : JSON.stringify(json)
        const answer = await fetch(`${host.url}${path}`, {
          method,
          headers: {
            ...(key === null ? {} : { authorization: `Bearer ${key}` }),
            ...(json === undefined ? {} : { 'content-type': 'application/json' }),
            ...forged,
            ...headers,
          },
          signal: AbortSignal.timeout(timeoutMs),
          ...(content === undefined ? {} : { body: content as string }),
        })
        const text = await answer.text()
        const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
        return { status: answer.status, headers: answer.headers, text, json: isJson ? JSON.parse(text) : undefined }
      },
    },
  }
}
