import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { startTestServer } from '../../server/test/support/start-test-server.ts'
import { openByLink, openWindow } from './support/browser.ts'
import { listenInside, openTab } from './support/runtime-page.ts'

/** Tries something, and returns the class of the error, or that it worked. */
const tried = (code: string) =>
  `(async () => { try { ${code}; return 'worked' } catch (error) { return error.name } })()`

test('the browser enforces the policy of the console: no inline code, no HTML by scripts, no other origin', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime({ name: 'mine' })
  const script = createServer((_, response) =>
    response.setHeader('content-type', 'text/javascript').end('window.theirs = true'),
  )
  server.engine.guest(id)?.ports.listen(8000, (connection) => script.emit('connection', connection))
  await server.ask('PATCH', `/v1/agents/runtime/${id}/ports/8000`, { json: { public: true } })
  const { path_url: ofRuntime } = (await server.ask('GET', `/v1/agents/runtime/${id}/ports/8000`)).json
  const { page } = await openWindow().then(async (visit) => {
    await openByLink(server, visit)
    return visit
  })
  await page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
  for (const code of [
    `document.body.innerHTML = '<b>x</b>'`,
    `document.body.insertAdjacentHTML('beforeend', '<b>x</b>')`,
    `document.createElement('iframe').srcdoc = '<b>x</b>'`,
    `new DOMParser().parseFromString('<b>x</b>', 'text/html')`,
    `document.createElement('script').src = '/console/assets/x.js'`,
    `trustedTypes.createPolicy('mine', { createHTML: (text) => text })`,
    `new Worker('/console/assets/x.js')`,
  ])
    expect([code, await page.evaluate(tried(code))]).toEqual([code, 'TypeError'])
  expect(await page.evaluate(tried(`await fetch('http://elsewhere.example/')`))).toBe('TypeError')
  // A way around Trusted Types: a script that the parser of another document has made.
  const run = (content: string, attribute: string) => `
    const frame = document.createElement('iframe')
    frame.src = 'blob:' + location.origin + '/none'
    document.body.append(frame)
    const element = document.createElementNS('http://www.w3.org/1999/xhtml', 'script')
    try { element.${attribute} = ${JSON.stringify(content)} } catch {}
    document.body.append(element)
    await new Promise((resolve) => setTimeout(resolve, 200))
    if (window.theirs !== true) throw new RangeError()`
  expect(await page.evaluate(tried(run('window.theirs = true', 'textContent')))).toBe('RangeError')
  expect(await page.evaluate(tried(run(ofRuntime, 'src')))).toBe('RangeError')
  await page.evaluate(`document.body.setAttribute('onclick', 'window.theirs = true')`).catch(() => undefined)
  await page.locator('h1').click()
  expect(await page.evaluate('window.theirs === true')).toBe(false)
  const style = `const sheet = document.createElement('style'); sheet.textContent = 'h1 { opacity: 0.5 }'; document.head.append(sheet)`
  await page.evaluate(tried(style))
  expect(await page.evaluate(`getComputedStyle(document.querySelector('h1')).opacity`)).toBe('1')
  // A form cannot send anything, and no page can frame the console.
  const address = page.url()
  await page.evaluate(`(() => {
    const form = document.createElement('form')
    form.action = 'http://elsewhere.example/'
    document.body.append(form)
    form.submit()
  })()`)
  expect(page.url()).toBe(address)
})

/** Tries all that a page of a runtime could do against the console, and writes down what worked. */
const attack = (console_: string, id: string) => `<!doctype html><title>hostile</title><pre id="out"></pre><script>
const base = ${JSON.stringify(console_)}
const tries = {
  opener: async () => window.opener.location.href,
  storage: async () => { if (localStorage.length + sessionStorage.length > 0) return; throw 0 },
  cookies: async () => { if (document.cookie.includes('holt')) return; throw 0 },
  sessions: async () => fetch(base + '/console/session', { credentials: 'include', headers: { 'x-holt-console': 'a'.repeat(43) } }),
  simple: async () => { const answer = await fetch(base + '/v1/agents/runtime', { credentials: 'include' }); await answer.json() },
  post: async () => { const answer = await fetch(base + '/v1/agents/runtime', { method: 'POST', credentials: 'include', headers: { 'content-type': 'text/plain' }, body: '{}' }); await answer.text() },
  remove: async () => fetch(base + '/v1/agents/runtime/${id}', { method: 'DELETE', credentials: 'include' }),
  page: async () => { const answer = await fetch(base + '/console/', { credentials: 'include' }); await answer.text() },
  asset: () => new Promise((resolve, reject) => { const image = new Image(); image.onload = resolve; image.onerror = reject; image.src = base + '/console/assets/icon.svg' }),
  frame: () => new Promise((resolve, reject) => { const frame = document.createElement('iframe'); frame.onload = () => { try { frame.contentDocument === null ? reject() : resolve() } catch { reject() } }; frame.src = base + '/console/'; document.body.append(frame) }),
  socket: () => new Promise((resolve, reject) => { const socket = new WebSocket(base.replace('http', 'ws') + '/v1/agents/runtime/${id}/commands/cm1/attach', ['holt.console.ky1.' + 'a'.repeat(43)]); socket.onopen = resolve; socket.onerror = reject }),
  worker: async () => navigator.serviceWorker.register(base + '/console/sw.js'),
}
const done = async () => {
  const worked = []
  for (const [name, attempt] of Object.entries(tries))
    await Promise.race([attempt(), new Promise((_, reject) => setTimeout(reject, 3000))]).then(() => worked.push(name), () => {})
  document.getElementById('out').textContent = 'worked: ' + worked.join(' ')
}
done()
</script>`

test.each(['127.0.0.1', 'localhost'])(
  'a page of a runtime, opened from the console at %s, gets nothing of it',
  async (host) => {
    const server = await startTestServer()
    const at = server.server.url.replace('127.0.0.1', host)
    const asked = { server: { url: at }, ask: server.ask }
    const id = await server.makeRuntime({ name: 'mine' })
    const program = createServer((_, response) => response.setHeader('content-type', 'text/html').end(attack(at, id)))
    server.engine.guest(id)?.ports.listen(8000, (connection) => program.emit('connection', connection))
    const visit = await openWindow()
    const { page, context } = visit
    await openByLink(asked, visit)
    await page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
    await page.goto(`${at}/console/runtimes/${id}/ports`)
    await page.getByRole('button', { name: 'Reach port 8000' }).click()
    const opening = context.waitForEvent('page')
    await page.getByRole('button', { name: 'Open in a new tab' }).click()
    const opened = await opening
    await opened.getByText('worked:').waitFor()
    expect(await opened.locator('#out').textContent()).toBe('worked: ')
    expect((await server.ask('GET', `/v1/agents/runtime/${id}`)).json.state).toBe('running')
    expect((await server.ask('GET', '/v1/agents/runtime')).json.data).toHaveLength(1)
    // The session of the console is as it was.
    await page.reload()
    await page.getByRole('heading', { name: 'mine' }).waitFor()
    expect(visit.complaints).toEqual([])
  },
)

test('a port is opened with a token of its key only: a key that was revoked opens nothing', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime({ name: 'mine' })
  listenInside(server, id, 8000)
  const { key, key_id } = await server.makeKey('runtime:read', 'runtime:write')
  const visit = await openWindow()
  const { page, context } = visit
  await openTab(server, visit, `${id}/ports`, key)
  await page.getByRole('button', { name: 'Reach port 8000' }).click()
  const opening = context.waitForEvent('page')
  await page.getByRole('button', { name: 'Open in a new tab' }).click()
  const opened = await opening
  await opened.getByText('inside, without cookies').waitFor()
  await server.ask('DELETE', `/v1/agents/key/${key_id}`)
  expect((await opened.reload())?.status()).toBe(401)
})
