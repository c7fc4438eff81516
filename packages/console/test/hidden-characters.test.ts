import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { startWebhookServer } from '../../server/test/support/receive-webhooks.ts'
import type { TestServer } from '../../server/test/support/start-test-server.ts'
import { tamper } from '../../server/test/support/test-store.ts'
import { openByLink, openWindow } from './support/browser.ts'
import { hostile } from './support/hostile-html.ts'

/** Marks of direction, of no width, and of control: each in the middle of a word. */
const hidden = 'ad\u202emin\u200b\u2066x\u2069\u0007\u00ad'

/** A name that would be another one, and HTML. */
const name = `${hidden} ${hostile}`.slice(0, 100)

/** The same, as a page writes it out. */
const writtenOut = 'ad\\u202emin\\u200b\\u2066x\\u2069'

/** Gives every free text of the service a hostile value. */
async function fill(server: TestServer): Promise<string> {
  const { ask } = server
  const admin = { name, scopes: ['admin', 'operator'] }
  const { key } = (await ask('POST', '/v1/agents/key', { json: admin })).json
  await ask('POST', '/v1/agents/webhook', {
    json: { url: `https://hooks.example.com/${hidden}`, description: name },
    key,
  })
  await ask('POST', '/v1/agents/network-policy', { json: { name: 'shared' }, key })
  await ask('DELETE', `/v1/agents/secret/${encodeURIComponent(name)}`, { key })
  const metadata = { [name]: name }
  const id = await server.makeRuntime({ name: 'mine', metadata, env: { A: name }, network_policy: 'shared' })
  await ask('POST', `/v1/agents/runtime/${id}/commands`, { json: { argv: ['echo', name] } })
  await ask('POST', `/v1/agents/runtime/${id}/commands`, {
    json: { argv: ['sleep', '600', name], background: true, pty: { cols: 80, rows: 24 } },
  })
  server.gateway.of(id)?.decide({ name, port: 443, process: { pid: 7, name, uid: 0 } })
  server.gateway.of(id)?.decide({ type: 'request', name, rule: 'request_denied', method: 'POST', path: `/${name}` })
  const build = { name: 'app', dockerfile: `FROM scratch\nLABEL a="${name}"` }
  await ask('POST', '/v1/agents/template/build', { json: build, key })
  // No client can write these, and a page must not depend on that.
  const reason = JSON.stringify({ code: 'x', message: name }).replaceAll("'", "''")
  await tamper(
    server.stateDir,
    `UPDATE runtimes SET state_reason_json = '${reason}';
     UPDATE audit SET subject_id = '${name.replaceAll("'", "''")}' WHERE subject_id IS NOT NULL;
     UPDATE events SET data_json = '${reason}' WHERE cursor < 3;
     UPDATE templates SET source = '${name.replaceAll("'", "''")}'`,
  )
  return id
}

/** Returns the texts of a page, also of its attributes, that have a character which nobody sees. */
async function unseenIn(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const unseen = /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f]/
    const found = []
    for (const element of document.querySelectorAll('#console *, [role=dialog] *, [role=alertdialog] *')) {
      const own = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data)
      for (const name of ['title', 'aria-label', 'alt', 'placeholder']) own.push(element.getAttribute(name) ?? '')
      for (const text of own) if (unseen.test(text)) found.push(element.tagName + ': ' + escape(text).slice(0, 200))
    }
    return found
  })()`) as Promise<readonly string[]>
}

test('no page shows a character that hides or reorders text, or HTML of a name', async () => {
  const { server, receiver } = await startWebhookServer()
  receiver.answer = (_, response) => response.writeHead(500).end(name)
  const id = await fill(server)
  const webhooks = (await server.ask('GET', '/v1/agents/webhook')).json.data
  const hooked = webhooks.find(({ description }: { description: string }) => description !== '')?.webhook_id
  const template = (await server.ask('GET', '/v1/agents/template/app')).json.template_id
  const visit = await openWindow({ viewport: { width: 1280, height: 900 } })
  const { page } = visit
  await openByLink(server, visit)
  await page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
  const marks: Readonly<Record<string, string>> = {
    runtimes: 'mine',
    [`runtimes/${id}`]: writtenOut,
    [`runtimes/${id}/terminal`]: writtenOut,
    [`runtimes/${id}/commands`]: writtenOut,
    [`runtimes/${id}/network`]: writtenOut,
    [`runtimes/${id}/events`]: 'runtime.running',
    templates: 'app',
    [`templates/${template}`]: writtenOut,
    builds: 'app',
    policies: 'shared',
    events: writtenOut,
    webhooks: writtenOut,
    [`webhooks/${hooked}`]: writtenOut,
    audit: writtenOut,
    keys: writtenOut,
    projects: 'default',
    host: 'Checks',
  }
  for (const [path, mark] of Object.entries(marks)) {
    await page.goto(`${server.server.url}/console/${path}`)
    await page.locator('main').getByText(mark).first().waitFor({ state: 'attached' })
    expect([path, await unseenIn(page)]).toEqual([path, []])
    expect([path, await page.locator('#console img, #console script').count()]).toEqual([path, 0])
  }
  // Dialogs and menus name the same things.
  await page.goto(`${server.server.url}/console/keys`)
  const row = page.getByRole('row').filter({ hasText: writtenOut })
  for (const action of ['Rotate…', 'Revoke…']) {
    await row.getByRole('button', { name: action }).click()
    await page
      .getByRole('heading', { name: /Ro?e?[tv]\w+ the key/ })
      .getByText(writtenOut)
      .waitFor()
    expect(await unseenIn(page)).toEqual([])
    await page.keyboard.press('Escape')
  }
  await page.goto(`${server.server.url}/console/webhooks/${hooked}`)
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByText('The test was').waitFor()
  expect(await unseenIn(page)).toEqual([])
  expect(await page.title()).toMatch(/Holt$/)
  expect(visit.complaints).toEqual([])
})
