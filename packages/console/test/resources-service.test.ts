import { makeId } from '@holt/protocol'
import { describe, expect, test } from 'vitest'
import { startTestServer } from '../../server/test/support/start-test-server.ts'
import { hostile } from './support/hostile-html.ts'
import { expectHarmless, expectNoFaults, expectPhoneWidth, showPage, visitPage } from './support/resource-visits.ts'

describe('keys', () => {
  test('are created, shown once, rotated with an overlap, and revoked', async () => {
    const server = await startTestServer()
    const visit = await visitPage(server, 'Keys')
    const { page } = visit
    await page.getByRole('row', { name: /this session/ }).waitFor()
    await expectNoFaults(page)
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.getByLabel('Name', { exact: true }).fill(hostile)
    await page.getByRole('checkbox', { name: /^runtime:write/ }).uncheck()
    await page.getByLabel('Expires').selectOption('7')
    await expectNoFaults(page)
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const shown = page.getByRole('region', { name: 'The key' })
    const key = (await shown.textContent()) ?? ''
    expect(key).toMatch(/^holt_/)
    const whoami = await server.ask('GET', '/v1/agents/whoami', { key })
    expect(whoami.json.key.scopes).not.toContain('runtime:write')
    expect(whoami.json.key.expires_at).not.toBeNull()
    await page.keyboard.press('Escape')
    // A slip of the hand does not lose it.
    await shown.waitFor()
    await expectNoFaults(page)
    await page.getByRole('button', { name: 'Done' }).click()
    const kept = await page.evaluate('JSON.stringify([localStorage, sessionStorage, location.href])')
    for (const text of [await page.content(), String(kept)]) expect(text).not.toContain(key)

    const row = page.getByRole('row', { name: hostile })
    await row.getByRole('button', { name: 'Rotate…' }).click()
    await page.getByLabel('The present secret works for').selectOption('86400')
    await page.getByRole('button', { name: 'Rotate', exact: true }).click()
    const rotated = (await shown.textContent()) ?? ''
    expect(rotated).not.toBe(key)
    await page.getByRole('button', { name: 'Done' }).click()
    expect(await page.content()).not.toContain(rotated)
    for (const each of [key, rotated])
      expect((await server.ask('GET', '/v1/agents/whoami', { key: each })).status).toBe(200)
    await expectPhoneWidth(page)
    await row.getByRole('button', { name: 'Revoke…' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
    await row.waitFor({ state: 'detached' })
    expect((await server.ask('GET', '/v1/agents/whoami', { key: rotated })).status).toBe(401)
    await expectHarmless(visit)
  })

  test('of another project are made by an operator, and a key grants only what it has', async () => {
    const server = await startTestServer()
    const { project_id } = (await server.ask('POST', '/v1/agents/project', { json: { name: 'second' } })).json
    const visit = await visitPage(server, 'Keys')
    const { page } = visit
    await page.getByLabel('Project').selectOption(project_id)
    await page.getByText('This project has no keys').waitFor()
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.getByLabel('Name', { exact: true }).fill('of-second')
    await page.getByRole('checkbox', { name: /^admin/ }).check()
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const key = (await page.getByRole('region', { name: 'The key' }).textContent()) ?? ''
    expect((await server.ask('GET', '/v1/agents/whoami', { key })).json.project.name).toBe('second')

    const other = await visitPage(server, 'Keys', { key })
    await other.page.getByRole('button', { name: 'Create a key' }).click()
    await other.page.getByRole('checkbox', { name: /^runtime:read/ }).waitFor()
    expect(await other.page.getByRole('checkbox', { name: /^operator/ }).count()).toBe(0)
    await other.page.getByRole('button', { name: 'Cancel' }).click()
    expect(await other.page.getByLabel('Project').count()).toBe(0)
    // The end of the key ends the session that stands on it.
    await other.page.getByRole('button', { name: 'Revoke…' }).click()
    await other.page.getByText('You are signed in with this key.').waitFor()
    expect([...visit.complaints, ...other.complaints]).toEqual([])
  })
})

test('projects show their quotas and use, are created, changed and deleted', async () => {
  const server = await startTestServer()
  const visit = await visitPage(server, 'Projects')
  const { page } = visit
  await page.getByRole('button', { name: 'Create a project' }).click()
  await page.getByLabel('Name', { exact: true }).fill('team')
  await page.getByLabel('Runtimes', { exact: true }).fill('-1')
  await page.getByLabel('Memory (MiB)').fill('4096')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('dialog').locator('.issue').first().waitFor()
  await expectNoFaults(page)
  await page.getByLabel('Runtimes', { exact: true }).fill('4')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  const team = page.getByRole('region', { name: 'Project team' })
  await team.getByText('0 of 4', { exact: true }).waitFor()
  await team.getByRole('meter', { name: 'Memory: 0 B of 4 GiB' }).waitFor()
  await expectNoFaults(page)
  await expectPhoneWidth(page)
  const json = { name: 'ci', scopes: ['admin'], project: 'team' }
  const { key } = (await server.ask('POST', '/v1/agents/key', { json })).json
  await server.ask('POST', '/v1/agents/runtime', { json: {}, key })
  await team.getByText('1 of 4', { exact: true }).waitFor()

  await team.getByRole('button', { name: 'Change team' }).click()
  await page.getByLabel('Runtimes', { exact: true }).fill('')
  await page.getByLabel('Builds').fill('2')
  await page.getByRole('button', { name: 'Save' }).click()
  await team.getByText('1, no limit').first().waitFor()
  const { quotas } = (await server.ask('GET', '/v1/agents/project/team')).json
  expect(quotas).toMatchObject({ runtimes: null, builds: 2, memory_mib: 4096 })
  await team.getByRole('button', { name: 'Delete team' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alert').waitFor()
  expect((await server.ask('GET', '/v1/agents/project/team')).status).toBe(200)

  const own = await visitPage(server, 'Projects', { key })
  await own.page.getByRole('region', { name: 'Project team' }).getByText('1, no limit').first().waitFor()
  expect(await own.page.getByRole('button', { name: /Create|Change|Delete/ }).count()).toBe(0)
  await expectNoFaults(own.page)
  expect([...visit.complaints, ...own.complaints]).toEqual([])
})

test('the host and its pools are shown to an operator', async () => {
  const message = `1 MiB ${hostile}`
  const checks = [
    { name: 'kernel', status: 'ok', message: '6.1.0', fix: null },
    { name: 'memory', status: 'fix', message, fix: 'holt doctor' },
  ] as const
  const server = await startTestServer({
    host: { hostId: makeId('host'), checks: async () => ({ checks, checkedAt: Date.now() }) },
    freeMemoryMiB: async () => 32_768,
    config: { pools: { floor: 1, ceiling: 4 } } as never,
  })
  const id = await server.makeRuntime()
  const visit = await visitPage(server, 'Host')
  const { page } = visit
  await page.getByRole('meter', { name: 'Memory in use: 32 GiB of 64 GiB' }).waitFor()
  await page.getByRole('definition').getByText('1 running').waitFor()
  const classes = page.getByRole('table', { name: 'Isolation classes' })
  await classes.getByRole('row', { name: 'gvisor' }).getByText('fake').waitFor()
  const found = page.getByRole('table', { name: 'Checks' })
  await found.getByText(message).waitFor()
  expect(await found.getByText('6.1.0').count()).toBe(0)
  await page.getByLabel('Show the passed ones too').check()
  await found.getByText('6.1.0').waitFor()
  await expectNoFaults(page)
  await expectPhoneWidth(page)
  // The page follows the host.
  await server.ask('DELETE', `/v1/agents/runtime/${id}`)
  await page.getByRole('definition').getByText('1 running').waitFor({ state: 'detached' })

  await showPage(page, 'Pools')
  const pools = page.getByRole('table', { name: 'Pools' })
  await pools
    .getByRole('row', { name: 'base-small' })
    .getByText(/ of 1 \(/)
    .waitFor()
  await page.getByText('HOLT_POOL_MAX=4').waitFor()
  await expectNoFaults(page)
  await expectPhoneWidth(page)
  await expectHarmless(visit)

  const { key } = await server.makeKey('admin')
  const other = await visitPage(server, 'Projects', { key })
  expect(await other.page.getByRole('link', { name: /Host|Pools/ }).count()).toBe(0)
})
