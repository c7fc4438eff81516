import { describe, expect, test } from 'vitest'
import { messages, startWebhookServer } from '../../server/test/support/receive-webhooks.ts'
import { startTestServer } from '../../server/test/support/start-test-server.ts'
import { tamper } from '../../server/test/support/test-store.ts'
import { hostile } from './support/hostile-html.ts'
import {
  expectHarmless,
  expectNoFaults,
  expectPhoneWidth,
  showPage,
  visitPage,
} from './support/resource-visits.ts'

describe('events', () => {
  test('appear as they happen, are filtered, and show hostile details as text', async () => {
    const server = await startTestServer()
    const visit = await visitPage(server, 'Events')
    const { page } = visit
    await page.getByText('New events appear here.').waitFor()
    const id = await server.makeRuntime({ name: 'mine' })
    await server.ask('POST', '/v1/agents/network-policy', { json: { name: 'agent', include: ['npm'] } })
    await page.getByRole('button', { name: 'policy.created' }).waitFor()
    await page.getByRole('button', { name: 'runtime.running' }).waitFor()
    await expectNoFaults(page)
    await expectPhoneWidth(page)
    await page.getByLabel('Kind').selectOption('runtime.*')
    await page.getByRole('button', { name: 'policy.created' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'runtime.running' }).waitFor()
    // A reload and a link show the same.
    expect(new URL(page.url()).searchParams.get('type')).toBe('runtime.*')
    await page.getByLabel('Id of the subject').fill('rt-of-nobody')
    await page.getByText('No event matches').waitFor()
    await page.getByLabel('Id of the subject').fill(id)
    await page.getByRole('button', { name: 'runtime.running' }).click()
    const details = page.getByRole('region', { name: 'Details' })
    expect(await details.textContent()).toContain(`"id": "${id}"`)
    await expectNoFaults(page)
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('Paused.').waitFor()
    await server.ask('POST', `/v1/agents/runtime/${id}/pause`)
    expect(await page.getByRole('button', { name: 'runtime.paused' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Follow' }).click()
    await page.getByRole('button', { name: 'runtime.paused' }).waitFor()
    await expectHarmless(visit)
  })

  test('are read page by page, back to the first', async () => {
    const server = await startTestServer()
    const path = '/v1/agents/network-policy/agent'
    await server.ask('POST', '/v1/agents/network-policy', { json: { name: 'agent' } })
    for (let count = 0; count < 210; count += 1) await server.ask('PUT', path, { json: {} })
    // No client can write this. A page must not depend on that.
    const data = JSON.stringify({ reason: hostile }).replaceAll("'", "''")
    await tamper(server.stateDir, `UPDATE events SET data_json = '${data}' WHERE cursor > 200`)
    const visit = await visitPage(server, 'Events')
    const { page } = visit
    await page.getByText(`reason: ${hostile}`).first().waitFor()
    await page.getByRole('button', { name: 'policy.replaced' }).first().click()
    expect(await page.getByRole('region', { name: 'Details' }).textContent()).toContain('<img src=x')
    await page.getByRole('button', { name: 'Close' }).click()
    const rows = () => page.getByRole('grid', { name: 'Events' }).getAttribute('aria-rowcount').then(Number)
    const older = page.getByRole('button', { name: 'Show older events' })
    await older.click()
    await expect.poll(rows).toBeGreaterThan(200)
    await older.click()
    await older.waitFor({ state: 'detached' })
    expect(await rows()).toBeGreaterThan(210)
    await expectHarmless(visit)
  })
})

describe('webhooks', () => {
  test('are created with a secret that is shown once, tested, and rotated', async () => {
    const { server, receiver } = await startWebhookServer()
    const visit = await visitPage(server, 'Webhooks')
    const { page } = visit
    await page.getByRole('button', { name: 'Create a webhook' }).click()
    await page.getByLabel('Address').fill('https://user@hooks.example.com')
    await page.getByLabel('Types of events').fill('policy.*\nnothing.ever')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.locator('.issue').getByText('must be an https address').waitFor()
    await page.locator('.issue').getByText('must be a type of event').waitFor()
    await expectNoFaults(page)
    await page.getByLabel('Address').fill('https://hooks.example.com/second')
    await page.getByLabel('Types of events').fill('policy.*')
    await page.getByLabel('Note').fill(hostile)
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const shown = page.getByRole('region', { name: 'The secret' })
    const secret = (await shown.textContent()) ?? ''
    expect(secret).toMatch(/^whsec_/)
    await expectNoFaults(page)
    await page.getByRole('button', { name: 'Done' }).click()
    expect(await page.content()).not.toContain(secret)
    const row = page.getByRole('row', { name: 'https://hooks.example.com/second' })
    await row.getByText(hostile).waitFor()
    await expectPhoneWidth(page)
    await row.getByRole('link').click()

    // The receiver answers with a page of its own.
    receiver.answer = (_, response) => response.writeHead(500, { 'content-type': 'text/html' }).end(hostile)
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByText(/The test was failed: status 500/).waitFor()
    await page.getByRole('button', { name: 'webhook.test' }).click()
    const answer = page.getByRole('region', { name: 'The answer to try 1' })
    expect(await answer.textContent()).toBe(hostile)
    await expectNoFaults(page)
    await page.getByRole('button', { name: 'Close' }).click()

    await page.getByRole('button', { name: 'Rotate the secret…' }).click()
    await page.getByRole('button', { name: 'Rotate', exact: true }).click()
    const rotated = (await shown.textContent()) ?? ''
    expect(rotated).not.toBe(secret)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText('The old secret works').waitFor()
    expect(await page.content()).not.toContain(rotated)
    await expectHarmless(visit)
  })

  test('show their deliveries, and send them again', async () => {
    const { server, receiver, path } = await startWebhookServer()
    receiver.answer = (_, response) => response.writeHead(202).end('taken')
    const id = await server.makeRuntime()
    await messages(receiver, 1)
    const visit = await visitPage(server, 'Webhooks')
    const { page } = visit
    await page.getByRole('link', { name: 'https://hooks.example.com/in' }).click()
    const deliveries = page.getByRole('table', { name: 'Deliveries' })
    const first = deliveries.getByRole('row', { name: 'runtime.running' })
    await first.getByText('202').waitFor()
    await expectNoFaults(page)
    await expectPhoneWidth(page)
    await first.getByRole('button', { name: 'runtime.running' }).click()
    await page.getByRole('region', { name: 'The event that was sent' }).getByText(id).waitFor()
    expect(await page.getByRole('region', { name: 'The answer to try 1' }).textContent()).toBe('taken')
    await page.getByRole('button', { name: 'Close' }).click()
    const before = receiver.received.length
    await first.getByRole('button', { name: 'Redeliver' }).click()
    await messages(receiver, before + 1)
    await expect.poll(() => deliveries.getByRole('row', { name: 'runtime.running' }).count()).toBe(2)
    await page.getByLabel('State of the deliveries').selectOption('failed')
    await page.getByText('Nothing was sent.').waitFor()

    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Enable' }).waitFor()
    expect((await server.ask('GET', path)).json.state).toBe('disabled')
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.getByRole('button', { name: 'Change…' }).click()
    await page.getByLabel('Note').fill('ours')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('definition').getByText('ours').waitFor()
    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No webhooks yet').waitFor()
    expect(visit.complaints).toEqual([])
  })
})

test('the audit log says who did what, filtered and page by page', async () => {
  const server = await startTestServer()
  const json = { name: hostile, scopes: ['admin'] }
  const { key } = (await server.ask('POST', '/v1/agents/key', { json })).json
  const path = '/v1/agents/network-policy/agent'
  await server.ask('POST', '/v1/agents/network-policy', { json: { name: 'agent' }, key })
  for (let count = 0; count < 120; count += 1) await server.ask('PUT', path, { json: {} })
  await server.ask('GET', '/v1/agents/whoami', { key: 'holt_wrong' })
  const visit = await visitPage(server, 'Audit log')
  const { page } = visit
  const rows = () => page.getByRole('grid', { name: 'Audit log' }).getAttribute('aria-rowcount').then(Number)
  await page.getByRole('button', { name: 'replacePolicy' }).first().waitFor()
  await expectNoFaults(page)
  await expectPhoneWidth(page)
  await expect.poll(rows).toBe(101)
  await page.getByRole('button', { name: 'Show older entries' }).click()
  await expect.poll(rows).toBeGreaterThan(120)

  await page.getByLabel('Route').fill('createPolicy')
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await expect.poll(rows).toBe(2)
  const row = page.getByRole('row', { name: 'createPolicy' })
  await row.getByText(hostile).waitFor()
  expect(new URL(page.url()).searchParams.get('route')).toBe('createPolicy')
  await page.getByRole('button', { name: 'createPolicy' }).click()
  const details = page.getByRole('region', { name: 'Details' })
  expect(await details.textContent()).toContain('"status": 201')
  await expectNoFaults(page)
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: 'Reset' }).click()
  await page.getByLabel('Kind').selectOption('auth_failed')
  await page.getByLabel('Project').selectOption('all')
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.getByText('no valid key').waitFor()
  await page.getByLabel('Subject').fill('nobody')
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.getByText('No entry matches').waitFor()
  await showPage(page, 'Events')
  await expectHarmless(visit)
})
