import { expect, test } from 'vitest'
import { startTestServer } from '../../server/test/support/start-test-server.ts'
import { openByLink, openWindow } from './support/browser.ts'
import { faultsOf } from './support/faults-of.ts'

test('a runtime is made by a form that checks it, shows each client, and offers what undoes it', async () => {
  const server = await startTestServer()
  const visit = await openWindow()
  const { page } = visit
  await openByLink(server, visit)
  await page.getByText('No runtimes yet').waitFor()
  await page.getByRole('button', { name: 'Create a runtime' }).click()
  await page.getByLabel('Name').fill('mine')
  await page.getByLabel('Runs for').fill('30m')
  await page.getByRole('combobox', { name: 'Network', exact: true }).selectOption('own')
  await page.getByLabel('Hosts').fill('api.example.com')
  await page.getByText('holt create --name mine --timeout 1800 --allow api.example.com').waitFor()
  await page.getByLabel('Disk').fill('1')
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByText('It would be refused:').waitFor()
  await page.getByLabel('Disk').fill('')
  await page.getByLabel('Memory').fill('512MiB')
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByText('It would be created. Nothing was made.').waitFor()
  expect((await server.ask('GET', '/v1/agents/runtime')).json.data).toEqual([])
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme })
    expect(await faultsOf(page, theme)).toEqual([])
  }
  // A closed form keeps what was typed.
  await page.keyboard.press('Escape')
  await page.keyboard.press('c')
  expect(await page.getByLabel('Name').inputValue()).toBe('mine')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  const row = page.getByRole('row', { name: 'mine' })
  await row.getByText('running').waitFor()
  await row.getByText('pauses in 29 min').waitFor()
  const [made] = (await server.ask('GET', '/v1/agents/runtime?name=mine')).json.data
  expect(made).toMatchObject({ timeout_secs: 1800, memory_mib: 512, network_policy: { type: 'inline' } })
  const notices = page.getByRole('region', { name: 'Notices' })
  await notices.getByText('Created mine.').waitFor()
  await page.getByRole('button', { name: 'Delete mine' }).click()
  const question = page.getByRole('alertdialog')
  await question.getByText('This cannot be undone.').waitFor()
  await question.getByRole('button', { name: 'Delete' }).click()
  await row.waitFor({ state: 'detached' })
  await notices.getByText('Deleted mine. This cannot be undone.').waitFor()
  expect(visit.complaints).toEqual([])
})

test('many runtimes are changed at once, with the failures, and with what undoes it', async () => {
  const server = await startTestServer()
  const names = ['one', 'two', 'three', 'four']
  for (const name of names) await server.makeRuntime({ name, metadata: { number: name } })
  // A container has no memory that could be saved.
  await server.makeRuntime({ name: 'plain', isolation: 'container' })
  const visit = await openWindow()
  const { page } = visit
  await openByLink(server, visit)
  const rowOf = (name: string) => page.getByRole('row', { name: new RegExp(`Select ${name}\\b`) })
  const stateOf = (name: string, state: string) => rowOf(name).getByText(state, { exact: true }).waitFor()
  await rowOf('plain').waitFor()
  await rowOf('plain').getByRole('checkbox').click()
  await rowOf('one').click({ modifiers: ['Shift'] })
  await page.getByText('5 selected').waitFor()
  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  for (const name of names) await stateOf(name, 'paused')
  const notices = page.getByRole('region', { name: 'Notices' })
  await notices.getByText('Paused 4 runtimes. 1 failed.').waitFor()
  const failures = page.getByRole('list', { name: 'What failed' })
  await failures.getByText('plain', { exact: true }).waitFor()
  await failures.getByText(/^Request rq/).waitFor()
  // The selection stays while rows change and come.
  await server.makeRuntime({ name: 'new' })
  await rowOf('new').waitFor()
  await page.getByText('5 selected').waitFor()
  await notices.getByRole('button', { name: 'Resume' }).click()
  for (const name of names) await stateOf(name, 'running')
  await notices.getByRole('button', { name: 'Pause' }).waitFor()
  // An action is for the runtimes that are shown. An id at random may have the word, but no label.
  await page.getByLabel('Find a runtime').fill('number=two')
  await page.getByText('1 selected').waitFor()
  await page.getByRole('button', { name: 'Fork…' }).click()
  await page.getByLabel('Forks of each').fill('2')
  await page.getByRole('button', { name: 'Fork', exact: true }).click()
  await notices.getByText('Forked two. Made 2 forks.').waitFor()
  await page.getByRole('button', { name: 'Show the tree' }).click()
  const tree = page.getByRole('treegrid', { name: 'Runtimes' })
  await expect.poll(() => tree.locator('[aria-level="2"]').count()).toBe(2)
  expect(await page.getByLabel('Find a runtime').inputValue()).toBe('')
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme })
    expect(await faultsOf(page, theme)).toEqual([])
  }
  await rowOf('two').getByRole('button', { name: 'Hide the 2 forks of two' }).click()
  await expect.poll(() => tree.locator('[aria-level="2"]').count()).toBe(0)
  await page.getByRole('button', { name: 'Delete…' }).click()
  const question = page.getByRole('alertdialog')
  await question.getByRole('heading', { name: 'Delete 5 runtimes?' }).waitFor()
  await question.getByRole('button', { name: 'Delete' }).click()
  await notices.getByText('Deleted 5 runtimes. This cannot be undone.').waitFor()
  for (const name of names) await rowOf(name).waitFor({ state: 'detached' })
  // Their forks remain, and say whose they were.
  await expect.poll(() => page.getByText(/fork of rt\w+, which has ended/).count()).toBe(2)
  await rowOf('new').waitFor()
  expect(visit.complaints).toEqual([])
})

test('a change is shown before the service has confirmed it, and taken back if it refuses', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime({ name: 'mine' })
  const visit = await openWindow()
  const { page } = visit
  const { promise: decided, resolve: decide } = Promise.withResolvers<undefined>()
  const error = { code: 'conflict', message: 'It is in use.', hint: 'Wait a moment.', request_id: 'rqrefused' }
  await page.route(/\/pause$/, async (route) => {
    await decided
    await route.fulfill({ status: 409, json: { error }, headers: { 'x-request-id': error.request_id } })
  })
  await openByLink(server, visit)
  const row = page.getByRole('row', { name: 'mine' })
  await row.getByRole('checkbox').click()
  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  await row.getByText('pausing', { exact: true }).waitFor()
  expect((await server.ask('GET', `/v1/agents/runtime/${id}`)).json.state).toBe('running')
  decide(undefined)
  await row.getByText('running', { exact: true }).waitFor()
  await page.getByRole('list', { name: 'What failed' }).getByText(error.hint).waitFor()
  expect(visit.complaints).toEqual([])
})

test('several runtimes are kept as snapshots, and found by their state', async () => {
  const server = await startTestServer()
  for (const name of ['one', 'two', 'three']) await server.makeRuntime({ name })
  const visit = await openWindow()
  const { page } = visit
  await openByLink(server, visit)
  await page.getByRole('row', { name: 'three' }).waitFor()
  await page.getByRole('checkbox', { name: 'Select all runtimes' }).click()
  await page.getByRole('button', { name: 'Snapshot…' }).click()
  await page.getByLabel('Kind').selectOption('filesystem')
  await page.getByRole('button', { name: 'Take the snapshots' }).click()
  await page.getByRole('region', { name: 'Notices' }).getByText('Took snapshots of 3 runtimes.').waitFor()
  const { data } = (await server.ask('GET', '/v1/agents/snapshot')).json
  expect(data.map(({ kind }: { kind: string }) => kind)).toEqual(['filesystem', 'filesystem', 'filesystem'])
  await page.getByRole('checkbox', { name: 'Select all runtimes' }).click()
  await page.getByRole('row', { name: 'two' }).getByRole('checkbox').click()
  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  await page.getByRole('row', { name: 'two' }).getByText('paused', { exact: true }).waitFor()
  await page.getByLabel('State').selectOption('Paused')
  await page.getByRole('row', { name: 'one' }).waitFor({ state: 'detached' })
  await page.getByRole('row', { name: 'two' }).waitFor()
  // A reload and a link show the same.
  await page.reload()
  await page.getByRole('row', { name: 'two' }).waitFor()
  expect(await page.getByRole('grid').getAttribute('aria-rowcount')).toBe('2')
  await page.getByLabel('State').selectOption('Failed')
  await page.getByText('No runtime matches').waitFor()
  await page.getByRole('button', { name: 'Show all' }).click()
  await page.getByRole('row', { name: 'one' }).waitFor()
  expect(visit.complaints).toEqual([])
})

test('the table shows the use of runtimes, and sorts by it', async () => {
  const server = await startTestServer()
  const ids = [await server.makeRuntime({ name: 'small' }), await server.makeRuntime({ name: 'large' })]
  for (const [at, id] of ids.entries())
    server.engine.use(id as never, { cpuUsec: 0, memoryBytes: (at + 1) * 100 * 2 ** 20 })
  const visit = await openWindow({ viewport: { width: 360, height: 740 } })
  const { page } = visit
  await openByLink(server, visit)
  await page.getByRole('row', { name: 'large' }).getByText('200 MiB').waitFor()
  await page.getByRole('row', { name: 'small' }).getByText('100 MiB').waitFor()
  expect(await page.locator('.spark polyline').count()).toBe(4)
  // The window has the width of a phone. Only the table may be wider, and scrolls by itself.
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  const first = () => page.getByRole('row').nth(1).textContent()
  await page.getByRole('button', { name: 'Memory' }).click()
  await expect.poll(first).toContain('small')
  await page.getByRole('button', { name: 'Memory' }).click()
  await expect.poll(first).toContain('large')
  expect(await page.getByRole('columnheader', { name: 'Memory' }).getAttribute('aria-sort')).toBe('descending')
  await page.getByRole('button', { name: 'Runtime', exact: true }).click()
  await page.reload()
  await expect.poll(first).toContain('large')
  await page.getByRole('button', { name: 'Runtime', exact: true }).click()
  await expect.poll(first).toContain('small')
  expect(visit.complaints).toEqual([])
})

test('runtimes are shown without actions to a key that may only read', async () => {
  const server = await startTestServer()
  await server.makeRuntime({ name: 'theirs' })
  const { key } = await server.makeKey('runtime:read')
  const visit = await openWindow()
  await openByLink(server, visit, key)
  const { page } = visit
  await page.getByRole('row', { name: 'theirs' }).waitFor()
  await page.keyboard.press('c')
  expect(await page.getByRole('button', { name: /Create|Delete|Pause|Fork/ }).count()).toBe(0)
  expect(await page.getByRole('dialog').count()).toBe(0)
})
