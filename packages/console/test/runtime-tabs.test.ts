import { describe, expect, test } from 'vitest'
import { startTestServer } from '../../server/test/support/start-test-server.ts'
import { openWindow } from './support/browser.ts'
import { faultsOf } from './support/faults-of.ts'
import { hostile } from './support/hostile-html.ts'
import { listenInside, openTab } from './support/runtime-page.ts'

test('ports are opened on another origin, and their token is shown on request and rotated', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime({ name: 'mine' })
  listenInside(server, id, 8000)
  const path = `/v1/agents/runtime/${id}/ports/8000`
  const visit = await openWindow({ permissions: ['clipboard-read', 'clipboard-write'] })
  const { page, context } = visit
  await openTab(server, visit, `${id}/ports`)
  await page.getByRole('row', { name: '8000' }).getByText('listens').waitFor()
  await page.getByRole('button', { name: 'Reach port 8000' }).click()
  const card = page.getByRole('region', { name: 'Port 8000' })
  await card.getByRole('button', { name: 'Copy the token' }).click()
  await card.getByText('Copied.').waitFor()
  const token = String(await page.evaluate('navigator.clipboard.readText()'))
  expect(token.length).toBeGreaterThan(40)
  expect(await page.content()).not.toContain(token)
  await card.getByRole('button', { name: 'Show the token' }).click()
  await card.getByText(token).waitFor()

  const asked: string[] = []
  context.on('request', (request) => asked.push(request.url()))
  const opening = context.waitForEvent('page')
  await card.getByRole('button', { name: 'Open in a new tab' }).click()
  const opened = await opening
  // The cookie of the service is not for the program.
  await opened.getByText('inside, without cookies').waitFor()
  expect(new URL(opened.url()).host).toMatch(new RegExp(`^8000-${id}\\.localhost:`))
  expect(opened.url()).not.toContain('token')
  expect(await opened.evaluate('[window.opener, document.referrer, history.length]')).toEqual([null, '', 1])
  // The history and logs of proxies have one address with a token, and it is worthless now.
  const [first = '', ...others] = asked.filter((url) => url.includes('holt_token'))
  expect([others, asked.filter((url) => url.includes(token))]).toEqual([[], []])
  const spent = await context.browser()?.newContext()
  expect((await (await spent?.newPage())?.goto(first))?.status()).toBe(404)
  await spent?.close()
  await opened.reload()
  await opened.getByText('inside, without cookies').waitFor()

  const statusOf = async (headers: Record<string, string>) =>
    (await fetch(`${server.server.url}${path}/proxy/`, { headers })).status
  expect(await statusOf({ 'x-holt-port-token': token })).toBe(200)
  await card.getByRole('button', { name: 'Rotate the tokens…' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Rotate' }).click()
  await page.getByRole('alertdialog').waitFor({ state: 'detached' })
  expect(await statusOf({ 'x-holt-port-token': token })).toBe(401)

  await card.getByRole('button', { name: 'Make it public…' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Make it public' }).click()
  await page.getByText('public: anyone with the address').waitFor()
  expect(await statusOf({})).toBe(200)
  await card.getByRole('button', { name: 'Make it private' }).click()
  await page.getByText('private: with a token').waitFor()
  expect(await statusOf({})).toBe(401)
  expect(visit.complaints).toEqual([])
})

test('ports of a paused runtime wait for its resume, and a key that only reads sees no tokens', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime({ name: 'mine' })
  listenInside(server, id, 8000)
  expect((await server.ask('POST', `/v1/agents/runtime/${id}/pause`)).json.state).toBe('paused')
  const visit = await openWindow()
  const { page } = visit
  await openTab(server, visit, `${id}/ports`)
  await page.getByText('The runtime is paused').waitFor()
  expect((await server.ask('GET', `/v1/agents/runtime/${id}`)).json.state).toBe('paused')
  await page.getByRole('button', { name: 'Resume it' }).click()
  await page.getByRole('button', { name: 'Reach port 8000' }).waitFor()
  const { key } = await server.makeKey('runtime:read')
  const reader = await openWindow()
  await openTab(server, reader, `${id}/ports`, key)
  await reader.page.getByRole('row', { name: '8000' }).waitFor()
  expect(await reader.page.getByRole('button', { name: /Reach/ }).count()).toBe(0)
  expect([...visit.complaints, ...reader.complaints]).toEqual([])
})

describe('the network', () => {
  test('has a live log, and a denied line is allowed by exactly the rule that was shown', async () => {
    const server = await startTestServer()
    const { ask } = server
    await ask('POST', '/v1/agents/network-policy', { json: { name: 'shared', allow: [{ host: 'old.example.com' }] } })
    const id = await server.makeRuntime({ name: 'mine', network_policy: 'shared' })
    await server.makeRuntime({ name: 'other-user', network_policy: 'shared' })
    const egress = server.gateway.of(id)
    egress?.decide({ name: 'api.example.com', port: 8443 })
    egress?.decide({ name: hostile, port: 443, process: { pid: 7, name: hostile, uid: 0 } })
    const visit = await openWindow()
    const { page } = visit
    await openTab(server, visit, `${id}/network`)
    await page.getByRole('row', { name: 'api.example.com:8443' }).getByText('no rule allows it').waitFor()
    await page.getByRole('row', { name: hostile.slice(0, 20) }).waitFor()
    egress?.decide({
      type: 'close',
      name: 'old.example.com',
      allowed: true,
      rule: 'allow 1',
      bytes_sent: 2048,
      bytes_received: 10,
    })
    egress?.decide({
      type: 'request',
      name: 'old.example.com',
      rule: 'request_denied',
      method: 'POST',
      path: `/${hostile}`,
    })
    await page.getByRole('row', { name: 'old.example.com:443' }).getByText('2 KiB, 10 B').waitFor()
    await page.getByText(`POST /${hostile}`).waitFor()
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(await page.title()).toMatch(/Holt$/)

    await page.getByLabel('Decision').selectOption('allowed')
    await page.getByText('1 of 4 lines').waitFor()
    await page.getByLabel('Decision').selectOption('denied')
    await page.getByPlaceholder('Host, rule, path or program').fill('8443')
    await page.getByText('1 of 4 lines').waitFor()

    await page.getByRole('button', { name: 'Allow this…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('api.example.com:8443', { exact: true }).waitFor()
    await dialog.getByText('the stored policy shared, revision 1').waitFor()
    await dialog.getByText('One other runtime has').waitFor()
    await dialog.getByRole('link', { name: 'other-user' }).waitFor()
    await dialog.getByRole('button', { name: 'Add' }).click()
    await dialog.waitFor({ state: 'detached' })
    const { allow, revision } = (await ask('GET', '/v1/agents/network-policy/shared')).json
    expect([allow.map(({ host, ports }: { host: string; ports: number[] }) => [host, ports]), revision]).toEqual([
      [
        ['old.example.com', [443]],
        ['api.example.com', [8443]],
      ],
      2,
    ])

    // All that was denied goes to a policy of this runtime only, and the shared one stays.
    egress?.decide({ name: 'late.example.com', port: 443 })
    await page.getByPlaceholder('Host, rule, path or program').fill('late')
    await page.getByRole('row', { name: 'late.example.com:443' }).waitFor()
    await page.getByRole('button', { name: 'Suggest rules for all denied…' }).click()
    await dialog.getByText('late.example.com:443', { exact: true }).waitFor()
    await dialog.getByText('cannot be the name in a rule').waitFor()
    await dialog.getByLabel('a policy of this runtime only').check()
    await dialog.getByRole('button', { name: 'Add' }).click()
    await dialog.waitFor({ state: 'detached' })
    const network = (await ask('GET', `/v1/agents/runtime/${id}/network`)).json
    expect(network.network_policy).toEqual({ type: 'inline' })
    expect(network.policy.allow.map(({ host }: { host: string }) => host)).toEqual([
      'old.example.com',
      'api.example.com',
      'late.example.com',
    ])
    expect((await ask('GET', '/v1/agents/network-policy/shared')).json.revision).toBe(2)
    expect(visit.complaints).toEqual([])
  })

  test('adds to a policy that somebody else has changed since it was shown, and keeps that change', async () => {
    const server = await startTestServer()
    await server.ask('POST', '/v1/agents/network-policy', { json: { name: 'shared' } })
    const id = await server.makeRuntime({ network_policy: 'shared' })
    server.gateway.of(id)?.decide({ name: 'api.example.com' })
    const visit = await openWindow()
    const { page } = visit
    await openTab(server, visit, `${id}/network`)
    await page.getByRole('button', { name: 'Allow this…' }).click()
    await page.getByText('the stored policy shared, revision 1').waitFor()
    await server.ask('PUT', '/v1/agents/network-policy/shared', { json: { allow: [{ host: 'mine.example.com' }] } })
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const { allow } = (await server.ask('GET', '/v1/agents/network-policy/shared')).json
    expect(allow.map(({ host }: { host: string }) => host)).toEqual(['mine.example.com', 'api.example.com'])
  })
})

test('events appear as they happen, with their details as text', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime({ name: 'mine' })
  const visit = await openWindow()
  const { page } = visit
  await openTab(server, visit, `${id}/events`)
  const list = page.getByRole('list', { name: 'Events' })
  await list.getByText('runtime.running').waitFor()
  server.engine.killForMemory(id, 1, { name: '<b onclick=x>', resident_bytes: 1, command_id: null })
  await list.getByText('runtime.oom_killed').click()
  await list.getByText('program: <b onclick=x>').waitFor()
  expect(await list.locator('b').count()).toBe(0)
  await server.ask('POST', `/v1/agents/runtime/${id}/fork`, { json: {} })
  await list.getByText('runtime.forked').click()
  const link = list.getByRole('link', { name: /^rt/ })
  await page.getByPlaceholder('Type or detail').fill('forked')
  await list.getByText('runtime.running').waitFor({ state: 'detached' })
  await link.click()
  await page.getByText('Forked from', { exact: true }).waitFor()
  expect(visit.complaints).toEqual([])
})

const tabs = ['', '/ports', '/network', '/events', '/metrics'] as const

test.each(['light', 'dark'] as const)(
  'every tab is accessible in the %s theme, at the width of a phone',
  async (colorScheme) => {
    const server = await startTestServer()
    await server.ask('POST', '/v1/agents/network-policy', { json: { name: 'shared', include: ['npm'] } })
    const id = await server.makeRuntime({ name: 'mine', metadata: { team: 'x' }, network_policy: 'shared' })
    listenInside(server, id, 8000)
    // A runtime that does nothing stands still, and is not measured.
    await server.ask('POST', `/v1/agents/runtime/${id}/commands`, {
      json: { argv: ['sleep', '600'], background: true },
    })
    server.engine.use(id, { memoryBytes: 300 * 2 ** 20 })
    server.gateway.of(id)?.decide({ name: 'api.example.com' })
    const visit = await openWindow({ colorScheme, viewport: { width: 360, height: 740 } })
    const { page } = visit
    await openTab(server, visit, id)
    const marks = {
      '': page.getByRole('table', { name: 'Metadata' }),
      '/ports': page.getByRole('button', { name: 'Reach port 8000' }),
      '/network': page.getByRole('button', { name: 'Allow this…' }),
      '/events': page.getByText('runtime.running'),
      '/metrics': page.locator('canvas').nth(3),
    }
    for (const tab of tabs) {
      await page.goto(`${server.server.url}/console/runtimes/${id}${tab}`)
      await marks[tab].waitFor({ state: 'attached' })
      expect([tab, await faultsOf(page, colorScheme)]).toEqual([tab, []])
      expect([tab, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([tab, 360])
    }
    await page.getByText('The same as a table').click()
    await page.getByRole('table', { name: 'Samples' }).getByText('300 MiB').first().waitFor()
    await page.goto(`${server.server.url}/console/runtimes/${id}/network`)
    await page.getByRole('button', { name: 'Suggest rules for all denied…' }).click()
    await page.getByText('the stored policy shared').last().waitFor()
    expect(await faultsOf(page, colorScheme)).toEqual([])
    await page.goto(`${server.server.url}/console/runtimes/${id}/ports`)
    await marks['/ports'].click()
    await page.getByRole('button', { name: 'Show the token' }).waitFor()
    expect(await faultsOf(page, colorScheme)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    for (const [button, text] of [
      ['Fork…', 'would be created now'],
      ['Metadata…', 'Those that you leave alone stay as they are.'],
    ] as const) {
      await page.goto(`${server.server.url}/console/runtimes/${id}`)
      await page.getByRole('button', { name: button }).click()
      await page.getByText(text).waitFor()
      expect(await faultsOf(page, colorScheme)).toEqual([])
    }
    expect(visit.complaints).toEqual([])
  },
)
