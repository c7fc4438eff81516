import { describe, expect, it } from 'vitest'
import { openByLink, openWindow, type Visit } from '../packages/console/test/support/browser.ts'
import { showPage } from '../packages/console/test/support/resource-visits.ts'
import { call } from './support/api.ts'
import { holt } from './support/cli.ts'
import { service } from './support/facts.ts'
import { createRuntime } from './support/test-runtime.ts'

const withoutGvisor = service.unavailable.gvisor !== null && !process.env.CI

/** Runtimes boot and are paused, on a machine that may be busy. */
const slowMs = 240_000

/** A name of this run. */
const unique = (name: string) => `${name}-${Date.now().toString(36)}`

const ask = async (method: string, path: string, json?: object) => {
  const { text } = await call(method, path, json === undefined ? {} : { json })
  return { json: text === '' ? null : JSON.parse(text) }
}

/** Opens a browser that is signed in with the key of the service. */
async function open(): Promise<Visit> {
  const visit = await openWindow()
  await openByLink({ server: service, ask }, visit)
  await visit.page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
  return visit
}

describe('sign in', () => {
  it('with a key shows what its scopes allow, until the key ends', async () => {
    const made = (await ask('POST', '/v1/agents/key', { name: unique('reader'), scopes: ['runtime:read'] })).json
    const visit = await openWindow()
    const { page } = visit
    await page.goto(`${service.url}/console/`)
    await page.getByLabel('API key').fill(made.key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link')
    expect(await links.allTextContents()).toEqual(['Runtimes', 'Snapshots', 'Projects'])
    expect(await page.getByRole('button', { name: 'Create a runtime' }).count()).toBe(0)
    await call('DELETE', `/v1/agents/key/${made.key_id}`)
    await page.getByLabel('API key').waitFor()
    expect(visit.complaints).toEqual([])
  })

  it('with the link of holt console needs no key, once', async () => {
    const { code, stdout, stderr } = await holt(['console', '--no-open'])
    expect([code, stderr]).toEqual([0, ''])
    const link = stdout.toString().trim()
    const visit = await openWindow()
    await visit.page.goto(link)
    await visit.page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
    expect(visit.page.url()).not.toContain('code')
    const other = await openWindow()
    await other.page.goto(link)
    await other.page.getByRole('alert').waitFor()
    await other.page.getByLabel('API key').waitFor()
    expect(visit.complaints).toEqual([])
  })
})

describe.skipIf(withoutGvisor)('runtimes', () => {
  it('are created, paused, resumed, forked, kept and deleted from their table', { timeout: slowMs }, async () => {
    const name = unique('table')
    const { page, complaints } = await open()
    const notices = page.getByRole('region', { name: 'Notices' })
    await page.getByRole('button', { name: 'Create a runtime' }).click()
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.getByLabel('Metadata').fill('team=search')
    await page.getByText(`holt create --name ${name} --metadata team=search`).waitFor()
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const row = page.getByRole('row', { name })
    await row.getByText('running', { exact: true }).waitFor({ timeout: 60_000 })
    await row.getByText(/^pauses in \d+ min$/).waitFor()
    // Its use appears with the first samples.
    await row.getByText(/\d MiB$/).waitFor()
    await row.getByRole('checkbox').click()
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await row.getByText('paused', { exact: true }).waitFor()
    await row.getByText('not while paused').waitFor()
    await notices.getByRole('button', { name: 'Resume' }).click()
    await row.getByText('running', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Snapshot…' }).click()
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.getByRole('button', { name: 'Take the snapshot' }).click()
    await notices.getByText(`Took snapshots of ${name}.`).waitFor()
    await page.getByRole('button', { name: 'Fork…' }).click()
    await page.getByLabel('Forks of each').fill('2')
    await page.getByText('2 of 2 would be created now.').waitFor()
    await page.getByRole('button', { name: 'Fork', exact: true }).click()
    await notices.getByText('Made 2 forks.').waitFor({ timeout: 60_000 })
    await page.getByRole('button', { name: 'Show the tree' }).click()
    await expect.poll(() => page.locator('[aria-level="2"]').count()).toBe(2)
    await page.getByLabel('Find a runtime').fill('team=search')
    await page.getByRole('checkbox', { name: 'Select all runtimes' }).click()
    await page.getByText('3 selected').waitFor()
    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await notices.getByText('Deleted 3 runtimes. This cannot be undone.').waitFor()
    // The snapshot remains, and begins another runtime.
    await showPage(page, 'Snapshots')
    const kept = page.getByRole('row', { name })
    await kept.getByText('memory').waitFor()
    await kept.getByRole('button', { name: 'Create a runtime' }).click()
    await page.getByLabel('Name', { exact: true }).fill(`${name}-2`)
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('heading', { name: `${name}-2` }).waitFor({ timeout: 60_000 })
    await page.getByText('running', { exact: true }).first().waitFor()
    await showPage(page, 'Snapshots')
    await kept.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await kept.waitFor({ state: 'detached' })
    for (const { runtime_id } of (await ask('GET', `/v1/agents/runtime?name=${name}-2`)).json.data)
      expect((await call('DELETE', `/v1/agents/runtime/${runtime_id}`)).status).toBe(204)
    expect(complaints).toEqual([])
  })
})

describe('one runtime', () => {
  it('has its server opened, and a denied host allowed from the log', { timeout: slowMs }, async () => {
    const name = unique('one')
    await using runtime = await createRuntime({ name, network_policy: { allow: [] } })
    const { page, context, complaints } = await open()
    const tabs = page.getByRole('navigation', { name: 'Parts of the runtime' })
    const tab = (title: string) => tabs.getByRole('link', { name: title, exact: true }).click()
    const run = async (command: string, end: string) => {
      await tab('Commands')
      await page.getByLabel('Command', { exact: true }).fill(command)
      await page.getByRole('button', { name: 'Run', exact: true }).click()
      const shown = page.getByRole('region', { name: 'The command' })
      await shown.getByText(command).first().waitFor()
      await shown.getByText(end, { exact: true }).first().waitFor({ timeout: 60_000 })
    }
    await page.getByRole('link', { name }).click()
    const fetched = 'curl -skS --max-time 20 -o /dev/null https://api.example.com/'
    await run(`${fetched} || echo refused`, 'refused')
    await tab('Network')
    // A lookup is refused before a port is known. The dialog suggests the port of HTTPS.
    const lookups = page.getByRole('row', { name: 'api.example.com' })
    await lookups.getByText('denied').first().waitFor()
    await lookups.getByRole('button', { name: 'Allow this…' }).first().click()
    await page.getByRole('dialog').getByText('api.example.com:443', { exact: true }).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await run(`${fetched} && echo reached`, 'exit code 0')
    await tab('Network')
    await page.getByLabel('Decision').selectOption('allowed')
    await page.getByRole('row', { name: 'api.example.com:443' }).getByText('allowed').first().waitFor()

    await runtime.sh('echo "served by the runtime" >/srv/index.html')
    const server = { command: 'exec python -m http.server 8000 -d /srv', background: true }
    expect((await runtime.call('POST', '/commands', { json: server })).status).toBe(201)
    await tab('Ports')
    await page.getByRole('button', { name: 'Reach port 8000' }).click()
    const opening = context.waitForEvent('page')
    await page.getByRole('button', { name: 'Open in a new tab' }).click()
    await (await opening).getByText('served by the runtime').waitFor()

    await tab('Metrics')
    await page.locator('canvas').first().waitFor()
    await tab('Events')
    await page.getByRole('list', { name: 'Events' }).getByText('runtime.running').waitFor()
    expect(complaints).toEqual([])
  })
})

describe('other resources', () => {
  it('are stored and used, and the service says what happened and on which host', { timeout: slowMs }, async () => {
    const [policy, secret, key] = [unique('policy'), unique('secret'), unique('key')]
    const { page, complaints } = await open()
    await showPage(page, 'Policies')
    await page.getByRole('button', { name: 'Store a policy' }).click()
    await page.getByLabel('Name', { exact: true }).fill(policy)
    await page.getByRole('button', { name: 'Add a host' }).click()
    await page.getByRole('group', { name: 'Rule 1' }).getByLabel('Host').fill('api.example.com')
    await page.getByRole('button', { name: 'Store', exact: true }).click()
    await page.getByRole('heading', { name: policy }).waitFor()
    await showPage(page, 'Secrets')
    await page.getByRole('button', { name: 'Store a secret' }).click()
    await page.getByLabel('Name', { exact: true }).fill(secret)
    await page.getByLabel('Value', { exact: true }).fill('a-value-of-nothing')
    await page.getByLabel('Hosts').fill('api.example.com')
    await page.getByRole('button', { name: 'Store', exact: true }).click()
    await page.getByRole('row', { name: secret }).waitFor()
    {
      await using runtime = await createRuntime({ name: unique('user'), network_policy: policy, secrets: [secret] })
      await showPage(page, 'Policies')
      await page.getByRole('link', { name: policy }).click()
      await page.getByRole('link', { name: runtime.data.name ?? '' }).click()
      await page.getByRole('table', { name: 'Secrets' }).getByText('stays outside').waitFor()
    }
    await showPage(page, 'Keys')
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.getByLabel('Name', { exact: true }).fill(key)
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const shown = await page.getByRole('region', { name: 'The key' }).textContent()
    expect((await call('GET', '/v1/agents/whoami', { key: shown })).status).toBe(200)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('row', { name: key }).getByRole('button', { name: 'Revoke…' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('row', { name: key }).waitFor({ state: 'detached' })
    expect((await call('GET', '/v1/agents/whoami', { key: shown })).status).toBe(401)

    await showPage(page, 'Events')
    const { policy_id } = (await ask('GET', `/v1/agents/network-policy/${policy}`)).json
    // The table has the rows in sight only, and other files of tests have made many events.
    await page.getByLabel('Id of the subject').fill(policy_id)
    await page.getByRole('button', { name: 'policy.created' }).waitFor()
    await showPage(page, 'Audit log')
    await page.getByRole('button', { name: 'revokeKey' }).first().waitFor()
    await showPage(page, 'Projects')
    await page
      .getByRole('region', { name: 'Project default' })
      .getByText(/^\d+, no limit$/)
      .first()
      .waitFor()
    await showPage(page, 'Pools')
    await page.getByText('HOLT_POOL_MAX').first().waitFor()
    await showPage(page, 'Host')
    await page.getByRole('meter', { name: /^Memory in use: / }).waitFor()
    await page.getByText(/^\d+ of \d+ passed, /).waitFor()
    await page.getByLabel('Show the passed ones too').check()
    await page.getByRole('table', { name: 'Checks' }).getByRole('rowheader', { name: 'kernel', exact: true }).waitFor()
    const classes = page.getByRole('table', { name: 'Isolation classes' })
    await classes.getByRole('rowheader', { name: 'container', exact: true }).waitFor()
    for (const path of [`network-policy/${policy}`, `secret/${secret}`])
      expect((await call('DELETE', `/v1/agents/${path}`)).status).toBe(204)
    expect(complaints).toEqual([])
  })
})
