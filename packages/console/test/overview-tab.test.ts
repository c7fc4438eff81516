import { describe, expect, test } from 'vitest'
import { startTestServer } from '../../server/test/support/start-test-server.ts'
import { openWindow } from './support/browser.ts'
import { hostile } from './support/hostile-html.ts'
import { openTab } from './support/runtime-page.ts'

describe('the overview', () => {
  test('shows every fact, and changes, forks, keeps, pauses and deletes the runtime', async () => {
    const server = await startTestServer()
    const { ask } = server
    await ask('POST', '/v1/agents/secret', {
      json: { name: 'vendor', value: 'the-real-value', hosts: ['api.example.com'], header: 'X-Key', format: '{value}' },
    })
    const id = await server.makeRuntime({
      name: 'mine',
      secrets: ['vendor'],
      network_policy: { allow: [{ host: 'api.example.com' }] },
      metadata: { team: 'search' },
      env: { A: '1' },
    })
    const runtimeOf = async () => (await ask('GET', `/v1/agents/runtime/${id}`)).json
    const visit = await openWindow()
    const { page } = visit
    await openTab(server, visit, id)
    await page.getByRole('heading', { name: 'mine' }).waitFor()
    const secrets = page.getByRole('table', { name: 'Secrets' })
    for (const text of ['vendor', 'api.example.com', 'X-Key', 'stays outside'])
      await secrets.getByText(text).first().waitFor()
    expect(await page.content()).not.toContain('the-real-value')
    await page.getByRole('table', { name: 'Environment' }).getByText('A', { exact: true }).waitFor()

    await page.getByRole('button', { name: 'Deadline…' }).click()
    await page.getByLabel('Runs from now for (minutes)').fill('none')
    await page.getByLabel('Pauses without use after (minutes)').fill('10')
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByText('it is paused after 10 min').waitFor()
    expect(await runtimeOf()).toMatchObject({
      timeout_secs: null,
      idle_timeout_secs: 600,
      metadata: { team: 'search' },
    })

    await page.getByRole('button', { name: 'Metadata…' }).click()
    await page.getByRole('button', { name: 'Add a label' }).click()
    await page.getByLabel('Key 2').fill('ticket')
    await page.getByLabel('Value 2').fill('HOLT-26')
    // Somebody else sets a label meanwhile.
    await ask('PATCH', `/v1/agents/runtime/${id}`, { json: { metadata_patch: { theirs: '1' } } })
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByRole('table', { name: 'Metadata' }).getByText('HOLT-26').waitFor()
    expect((await runtimeOf()).metadata).toEqual({ team: 'search', ticket: 'HOLT-26', theirs: '1' })

    await page.getByRole('button', { name: 'Snapshot…' }).click()
    await page.getByLabel('Name').fill('before')
    await page.getByLabel('Kind').selectOption('filesystem')
    await page.getByRole('button', { name: 'Take the snapshot' }).click()
    const notices = page.getByRole('region', { name: 'Notices' })
    await notices.getByText('Took snapshots of mine.').waitFor()
    expect((await ask('GET', '/v1/agents/snapshot?name=before')).json.data).toMatchObject([{ kind: 'filesystem' }])

    await page.getByRole('button', { name: 'Fork…' }).click()
    await page.getByLabel('Forks of each').fill('2')
    await page.getByText('2 of 2 would be created now.').waitFor()
    await page.getByRole('button', { name: 'Fork', exact: true }).click()
    await notices.getByText('Made 2 forks.').waitFor()
    const forks = page.getByRole('region', { name: 'Forks' }).getByRole('link')
    await forks.nth(1).waitFor()
    await forks.first().click()
    await page.getByText('Forked from', { exact: true }).waitFor()
    await page.getByRole('link', { name: id }).click()
    await page.getByRole('heading', { name: 'mine' }).waitFor()

    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('alertdialog').getByText('Nothing brings them back').waitFor()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('It has ended.').waitFor()
    expect((await runtimeOf()).state).toBe('terminated')
    expect(visit.complaints).toEqual([])
  })

  test('shows HTML and links in metadata and variables as text', async () => {
    const server = await startTestServer()
    const metadata = { [hostile]: hostile, link: 'javascript:document.title=1', data: 'data:text/html,<script>' }
    const id = await server.makeRuntime({
      metadata,
      env: { LONG: 'x'.repeat(100_000), HTML: hostile, TURNED: 'a\u202eb' },
    })
    const visit = await openWindow({ viewport: { width: 360, height: 740 } })
    const { page } = visit
    await openTab(server, visit, id)
    const table = page.getByRole('table', { name: 'Metadata' })
    await table.getByRole('rowheader', { name: hostile }).waitFor()
    await table.getByText('javascript:document.title=1').waitFor()
    await page.getByText('a\\u202eb').waitFor()
    expect(
      await page.locator('main img, main script, main a[href^="javascript:"], main a[href^="data:"]').count(),
    ).toBe(0)
    expect(await page.title()).toMatch(/Holt$/)
    expect((await page.content()).length).toBeLessThan(100_000)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    expect(visit.complaints).toEqual([])
  })

  test('has no actions for a key that may only read', async () => {
    const server = await startTestServer()
    const id = await server.makeRuntime({ name: 'theirs' })
    const { key } = await server.makeKey('runtime:read')
    const visit = await openWindow()
    await openTab(server, visit, id, key)
    await visit.page.getByText('No runtime was forked from this one.').waitFor()
    expect(await visit.page.locator('main').getByRole('button').count()).toBe(0)
    expect(visit.complaints).toEqual([])
  })
})
