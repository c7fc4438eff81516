import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parseConfig } from '../../server/src/index.ts'
import { startTestServer } from '../../server/test/support/start-test-server.ts'
import { testDatabase } from '../../server/test/support/test-store.ts'
import { openByLink, openWindow } from './support/browser.ts'
import { faultsOf } from './support/faults-of.ts'

test('a page whose code does not load says what to do', async () => {
  const server = await startTestServer()
  const { page } = await openWindow()
  await page.route('**/assets/*.js', (route) => route.abort('connectionreset'))
  await page.goto(`${server.server.url}/console/`)
  await page.getByText('reload the page').waitFor()
})

describe('sign in', () => {
  test('with a key, which is in no address and in no storage', async () => {
    const server = await startTestServer()
    const visit = await openWindow()
    const { page, context } = visit
    const addresses: string[] = []
    page.on('request', (request) => addresses.push(request.url()))
    await page.goto(`${server.server.url}/console/`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Enter a key.').waitFor()
    await page.getByLabel('API key').fill('holt_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('not known').waitFor()
    await page
      .getByRole('alert')
      .getByText(/^Request rq/)
      .waitFor()
    await page.getByLabel('API key').fill(server.server.adminKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
    const [cookie] = await context.cookies()
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
    const kept = await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])')
    for (const text of [String(kept), ...addresses]) expect(text).not.toContain(server.server.adminKey)
    expect(visit.complaints).toEqual([])
  })

  test('with a link, whose code leaves the address', async () => {
    const server = await startTestServer()
    const visit = await openWindow()
    await openByLink(server, visit)
    await visit.page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
    expect(visit.page.url()).toBe(`${server.server.url}/console/runtimes`)
  })

  test('with a link that is pasted into the tab of the sign-in page', async () => {
    const server = await startTestServer()
    const visit = await openWindow()
    const { page } = visit
    await page.goto(`${server.server.url}/console/`)
    await page.getByRole('heading', { name: 'Sign in to Holt' }).waitFor()
    await openByLink(server, visit)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
    expect(page.url()).toBe(`${server.server.url}/console/runtimes`)
    expect(visit.complaints).toEqual([])
  })

  test('with a link of another project only after a question', async () => {
    const server = await startTestServer()
    const { project_id } = (await server.ask('POST', '/v1/agents/project', { json: { name: 'theirs' } })).json
    const json = { name: 'of-theirs', scopes: ['admin'], project: project_id }
    const { key } = (await server.ask('POST', '/v1/agents/key', { json })).json
    const visit = await openWindow()
    await openByLink(server, visit)
    await visit.page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
    const page = await visit.context.newPage()
    await openByLink(server, { ...visit, page }, key)
    await page.getByText('signed in to the project default').waitFor()
    expect(await faultsOf(page, 'light')).toEqual([])
    await page.getByRole('button', { name: 'Stay in default' }).click()
    await page.getByRole('button', { name: 'default' }).waitFor()
    await page.close()
    const other = await visit.context.newPage()
    await openByLink(server, { ...visit, page: other }, key)
    await other.getByRole('button', { name: 'Sign in' }).click()
    await other.getByRole('button', { name: 'theirs' }).waitFor()
    expect(await visit.context.cookies()).toHaveLength(2)
    expect(visit.complaints).toEqual([])
  })

  test('with a link that a page of another site opens only after a question', async () => {
    const server = await startTestServer()
    const theirs = createServer(async (_, response) => {
      const { code } = (await server.ask('POST', '/console/link')).json
      response.writeHead(303, { location: `${server.server.url}/console/#code=${code}` }).end()
    })
    await once(theirs.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void theirs.close())
    const visit = await openWindow()
    const { page } = visit
    // A person opens an address of another site, such as a link in a mail. A page there opens ours.
    await page.route('http://elsewhere.example/', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<a href="http://127.0.0.1:${(theirs.address() as AddressInfo).port}/">Look</a>`,
      }),
    )
    await page.goto('http://elsewhere.example/')
    await page.getByRole('link').click()
    await page.getByText('A page of another site may have opened this link.').waitFor()
    expect([await faultsOf(page, 'light'), await visit.context.cookies()]).toEqual([[], []])
    await page.getByRole('button', { name: 'Do not sign in' }).click()
    await page.getByRole('heading', { name: 'Sign in to Holt' }).waitFor()
    expect(await visit.context.cookies()).toEqual([])
    await page.goto('http://elsewhere.example/')
    await page.getByRole('link').click()
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('and out again', async () => {
    const server = await startTestServer()
    const visit = await openWindow()
    await openByLink(server, visit)
    await visit.page.getByRole('button', { name: 'default' }).click()
    await visit.page.getByRole('menuitem', { name: 'Sign out' }).click()
    await visit.page.getByLabel('API key').waitFor()
    expect(await visit.context.cookies()).toEqual([])
  })
})

test('a restart of the service shows a banner, the page continues, and nothing typed is lost', async () => {
  const server = await startTestServer()
  const visit = await openWindow()
  const { page } = visit
  await openByLink(server, visit)
  await page.getByText('No runtimes yet').waitFor()
  await page.getByRole('button', { name: 'Create a runtime' }).click()
  await page.getByLabel('Name').fill('typed-before')
  const settings = { HOLT_STATE_DIR: server.stateDir, HOLT_PORT: new URL(server.server.url).port, HOLT_POOL_MAX: '0' }
  const config = { ...parseConfig(settings), ...(await testDatabase(server.stateDir)) }
  await server.close()
  await page.getByText('Reconnecting…').waitFor()
  await page.getByLabel('Metadata').fill('team=typed-meanwhile')
  // A part that was not loaded before waits for the service.
  await page.keyboard.press('Control+k')
  const again = await server.restart({ config })
  await page.getByText('Reconnecting…').waitFor({ state: 'detached' })
  await page.getByLabel('Find a command or a runtime').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('row', { name: 'typed-before' }).getByText('running').waitFor()
  const [made] = (await again.ask('GET', '/v1/agents/runtime')).json.data
  expect([made.name, made.metadata]).toEqual(['typed-before', { team: 'typed-meanwhile' }])
  // The page follows the changes of others again.
  await again.makeRuntime({ name: 'after' })
  await page.getByRole('row', { name: 'after' }).waitFor()
})

test('a switch of the project shows the runtimes of the other one only', async () => {
  const server = await startTestServer()
  const { project_id } = (await server.ask('POST', '/v1/agents/project', { json: { name: 'second' } })).json
  const json = { name: 'of-second', scopes: ['admin'], project: project_id }
  const { key } = (await server.ask('POST', '/v1/agents/key', { json })).json
  await server.makeRuntime({ name: 'of-default' })
  const visit = await openWindow({ viewport: { width: 360, height: 740 } })
  const { page } = visit
  await openByLink(server, visit)
  await page.getByRole('row', { name: 'of-default' }).waitFor()
  // The window has the width of a phone. Only the table may be wider, and scrolls by itself.
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  await page.getByRole('button', { name: 'default' }).click()
  await page.getByRole('menuitem', { name: 'Sign in with another key' }).click()
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('No runtimes yet').waitFor()
  expect(await page.getByText('of-default').count()).toBe(0)
  await page.getByRole('button', { name: 'second' }).click()
  await page.getByRole('menuitem', { name: /^default/ }).click()
  await page.getByRole('row', { name: 'of-default' }).waitFor()
  expect(visit.complaints).toEqual([])
})

test.each(['light', 'dark'] as const)('the shell is accessible in the %s theme', async (colorScheme) => {
  const server = await startTestServer()
  const visit = await openWindow({ colorScheme })
  const { page } = visit
  await page.goto(`${server.server.url}/console/`)
  await page.getByLabel('API key').waitFor()
  expect(await faultsOf(page, colorScheme)).toEqual([])
  await openByLink(server, visit)
  await page.getByText('A page of another site may have opened this link.').waitFor()
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText('No runtimes yet').waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('menuitem', { name: 'Show runtimes' }).waitFor()
  expect(await faultsOf(page, colorScheme)).toEqual([])
  await page.keyboard.press('Escape')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
  expect(await faultsOf(page, colorScheme)).toEqual([])
  await page.goto(`${server.server.url}/console/nowhere`)
  await page.getByRole('heading', { name: 'Not found' }).waitFor()
  expect(await faultsOf(page, colorScheme)).toEqual([])
  expect(visit.complaints).toEqual([])
})

test('everything can be reached by the keyboard alone', async () => {
  const server = await startTestServer()
  for (const name of ['alpha', 'beta', 'gamma']) await server.makeRuntime({ name, metadata: { team: `of-${name}` } })
  const visit = await openWindow()
  const { page } = visit
  await openByLink(server, visit)
  const { keyboard } = page
  const focused = () => page.evaluate('document.activeElement.textContent')
  const selected = async () => {
    const rows = await page.getByRole('row', { selected: true }).allTextContents()
    return rows.map((row) => /alpha|beta|gamma/.exec(row)?.[0])
  }
  await page.getByRole('row', { name: 'gamma' }).waitFor()
  await expect.poll(() => page.title()).toBe('Runtimes · Holt')
  // The link over everything leads past the navigation.
  await keyboard.press('Tab')
  expect(await focused()).toBe('Skip to the content')
  await keyboard.press('Enter')
  expect(await page.evaluate('document.activeElement.id')).toBe('content')
  expect(page.url()).not.toContain('#')
  // The table: the newest is first.
  await page.getByRole('grid', { name: 'Runtimes' }).focus()
  await keyboard.press('ArrowDown')
  await keyboard.press('Space')
  await keyboard.press('Shift+ArrowDown')
  await expect.poll(selected).toEqual(['gamma', 'beta'])
  await keyboard.press('Shift+ArrowUp')
  await expect.poll(selected).toEqual(['gamma'])
  await keyboard.press('Control+a')
  await expect.poll(selected).toEqual(['gamma', 'beta', 'alpha'])
  // The palette has the actions on the selection, and finds a runtime by its labels.
  await keyboard.press('Control+k')
  await page.getByRole('menuitem', { name: 'Pause the 3 runtimes selected' }).waitFor()
  await keyboard.type('of-beta')
  await page.getByRole('menuitem', { name: 'Open beta' }).waitFor()
  await keyboard.press('ArrowDown')
  await keyboard.press('Enter')
  await page.getByRole('heading', { name: 'beta' }).waitFor()
  await expect.poll(focused).toBe('beta')
  await expect.poll(() => page.title()).toBe('Overview · beta · Holt')
  // Single keys, which can be turned off.
  await keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keyboard' })
  await help.getByLabel('Single keys run commands').uncheck()
  await keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })
  await keyboard.press('c')
  await keyboard.press('Control+k')
  await keyboard.type('show the keys')
  await page.getByRole('menuitem', { name: 'Show the keys' }).waitFor()
  expect(await page.getByRole('dialog', { name: 'Create a runtime' }).count()).toBe(0)
  await keyboard.press('ArrowDown')
  await keyboard.press('Enter')
  await help.getByLabel('Single keys run commands').check()
  await keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })
  await keyboard.press('c')
  await page.getByRole('dialog', { name: 'Create a runtime' }).waitFor()
  await keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await keyboard.press('/')
  await keyboard.type('team=of-alpha')
  await page.getByRole('row', { name: 'beta' }).waitFor({ state: 'detached' })
  await expect.poll(() => page.url()).toContain('find=team')
  expect(visit.complaints).toEqual([])
})

test('a page of a runtime in the path form can use nothing of the console', async () => {
  const server = await startTestServer()
  const visit = await openWindow()
  const { page } = visit
  await openByLink(server, visit)
  await page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
  const [cookie] = await visit.context.cookies()
  const keyId = cookie?.name.slice('holt_console_'.length) ?? ''
  const id = await server.makeRuntime()
  const { createServer } = await import('node:http')
  const program = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>inside'))
  server.engine.guest(id)?.ports.listen(3000, (connection) => program.emit('connection', connection))
  const { path_url: pathUrl, token } = (await server.ask('GET', `/v1/agents/runtime/${id}/ports/3000`)).json
  await page.goto(`${pathUrl}?holt_token=${token}`)
  await page.getByText('inside').waitFor()
  const tried = await page.evaluate(
    `(async () => {
      const answer = await fetch('/v1/agents/whoami', { headers: { 'x-holt-console': '${keyId}' } }).catch(String)
      let kept
      try { kept = document.cookie } catch (error) { kept = error.name }
      return [origin, typeof answer === 'string' ? answer : answer.status, kept]
    })()`,
  )
  expect(tried).toEqual(['null', 'TypeError: Failed to fetch', 'SecurityError'])
})
