import type { IncomingHttpHeaders } from 'node:http'
import { expect, test } from 'vitest'
import { startPortServer } from '../../support/port-visitor.ts'

const keyId = `ky${'a'.repeat(20)}`
const sessions = [`holt_console_${keyId}=secret`, `__Host-holt_console_${keyId}=secret`]

/** A server with a program on port 3000 that notes the headers it gets. */
async function start(answer: Readonly<Record<string, string | string[]>> = {}) {
  const server = await startPortServer()
  const seen: IncomingHttpHeaders[] = []
  server.program(3000, ({ headers }, response) => {
    seen.push(headers)
    response.writeHead(200, answer).end('<script>')
  })
  const { token } = await server.get(3000)
  const headers = { 'x-holt-port-token': token }
  const forms = {
    host: (more: Record<string, string> = {}) =>
      server.byHost(server.hostOf(3000), '/', { headers: { ...headers, ...more } }),
    path: (more: Record<string, string> = {}) => server.byPath(3000, '/', { headers: { ...headers, ...more } }),
  }
  return { seen, forms }
}

test('no program gets the cookie of a session of the console, and its own cookies remain', async () => {
  const { seen, forms } = await start()
  const cookie = ['mine=1', ...sessions, 'holt_consoles=2'].join('; ')
  for (const visit of Object.values(forms)) expect((await visit({ cookie })).status).toBe(200)
  expect(seen.map(({ cookie }) => cookie)).toEqual(['mine=1; holt_consoles=2', 'mine=1; holt_consoles=2'])
  expect(JSON.stringify(seen)).not.toContain('secret')
})

test('no program sets a session of the console', async () => {
  const { forms } = await start({ 'set-cookie': ['mine=1', ...sessions.map((each) => `${each}; Path=/`)] })
  expect((await forms.host()).headers['set-cookie']).toEqual(['mine=1'])
  expect((await forms.path()).headers['set-cookie']).toEqual([expect.stringMatching(/^mine=1; Path=.*\/proxy\/$/)])
})

test('a page in the path form has an opaque origin, whatever its own policy', async () => {
  const { forms } = await start({ 'content-security-policy': "default-src 'self'" })
  const policy = (await forms.path()).headers['content-security-policy']
  expect(policy).toMatch(/^default-src 'self', sandbox [a-z -]*allow-scripts$/)
  expect(policy).not.toMatch(/allow-same-origin|allow-top-navigation|allow-popups-to-escape-sandbox/)
  // A name of its own is an origin of its own.
  expect((await forms.host()).headers['content-security-policy']).toBe("default-src 'self'")
})

test('a service worker cannot come from the path form', async () => {
  const { forms, seen } = await start()
  expect((await forms.path({ 'service-worker': 'script' })).status).toBe(403)
  expect(seen).toEqual([])
  expect((await forms.host({ 'service-worker': 'script' })).status).toBe(200)
})
