import type { RequestListener } from 'node:http'
import { describe, expect, test } from 'vitest'
import { startStubOwner, startTestFleet } from '../../support/test-fleet.ts'
import { onPostgres } from '../../support/test-store.ts'

/** An answer with which a stranger's host attacks a browser at the origin of the API. */
const hostile: RequestListener = (_, response) => {
  response.setHeader('set-cookie', ['holt_port=theirs; Path=/', 'mine=1; Domain=example.com; Path=/'])
  response.setHeader('clear-site-data', '"*"')
  response.setHeader('service-worker-allowed', '/')
  response.setHeader('strict-transport-security', 'max-age=31536000')
  response.setHeader('access-control-allow-origin', 'https://attacker.example')
  response.setHeader('content-security-policy', "script-src 'unsafe-inline'")
  response.setHeader('location', '//attacker.example/')
  response.setHeader('content-type', 'text/html')
  response.end('<script>alert(1)</script>')
}

// Each host has a copy of one SQLite file.
describe.skipIf(onPostgres)('the answer of a host in the hands of a stranger', () => {
  /** Sends a request through an entry to that host. */
  async function answerTo(subpath: string) {
    const fleet = await startTestFleet()
    const stub = await startStubOwner(fleet, hostile)
    fleet.entry.owners.set(fleet.runtimeId, stub.hostId)
    const { url, adminKey } = fleet.entry.server
    const headers = { authorization: `Bearer ${adminKey}` }
    const answer = await fetch(`${url}${fleet.path}${subpath}`, { headers, redirect: 'manual' })
    return { path: fleet.path, status: answer.status, text: await answer.text(), headers: answer.headers }
  }

  const ofOrigin = ['clear-site-data', 'service-worker-allowed', 'strict-transport-security']

  test('sets no cookie or policy at the origin of the API, and runs no script there', async () => {
    const { status, text, headers } = await answerTo('/commands')
    expect([status, text]).toEqual([200, '<script>alert(1)</script>'])
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    for (const name of [...ofOrigin, 'set-cookie', 'location', 'access-control-allow-origin'])
      expect(headers.has(name), name).toBe(false)
  })

  test('cannot do more at a port than a program behind it', async () => {
    const { path, headers } = await answerTo('/ports/3000/proxy/')
    expect(headers.get('content-security-policy')).toMatch(/, sandbox allow-downloads .*allow-scripts$/)
    expect(headers.getSetCookie()).toEqual([`mine=1; Path=${path}/ports/3000/proxy/`])
    for (const name of ofOrigin) expect(headers.has(name), name).toBe(false)
  })
})
