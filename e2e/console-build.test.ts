import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openByLink, openWindow } from '../packages/console/test/support/browser.ts'
import { faultsOf } from '../packages/console/test/support/faults-of.ts'
import { call } from './support/api.ts'
import { service } from './support/facts.ts'
import { pointName, rig } from './support/rig/arrivals.ts'
import { templatesPath } from './support/test-build.ts'
import { createRuntime } from './support/test-runtime.ts'
import { visit } from './support/visit.ts'

/** A build boots runtimes and takes a checkpoint, on a machine that may be busy. */
const slowMs = 300_000

/** An application like the Flask example, which needs no package index. */
const app = `
import http.server, itertools, json, os
visits = itertools.count(1)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"visitor": next(visits), "text": open("/srv/text").read()}).encode())
http.server.ThreadingHTTPServer(("", 5000), Handler).serve_forever()
`

const dockerfile = `FROM holt/base-small
USER root
WORKDIR /srv
COPY app.py .
RUN printf '\\033[31mcolour\\033[0m <b>text</b>\\n' | tee text
CMD ["never"]
`

const ask = async (method: string, path: string) => ({ json: JSON.parse((await call(method, path)).text) })

it(
  'the console builds a template whose application runs when a runtime begins',
  async () => {
    const name = `console-${Date.now().toString(36)}`
    const opened = await openWindow()
    const { page } = opened
    await openByLink({ server: service, ask }, opened)
    await page.getByRole('link', { name: 'Templates' }).click()
    await page.getByRole('link', { name: 'Build a template' }).click()
    await page.locator('.cm-content').click()
    await page.keyboard.insertText(dockerfile)
    await page.getByText('5 supported, 1 ignored, 0 refused.').waitFor()
    await page.getByRole('button', { name: 'Write a file…' }).click()
    await page.getByLabel('Path of the file').fill('app.py')
    await page.getByLabel('Content of the file').fill(app)
    await page.getByRole('button', { name: 'Keep the file' }).click()
    await page.getByLabel('Name of the template').fill(name)
    await page.getByLabel('Start command').fill('python3 app.py')
    await page.getByRole('button', { name: 'Build', exact: true }).click()
    await page.getByRole('heading', { name: `Build of ${name}` }).waitFor()
    try {
      await page.getByText('The template is ready.').waitFor({ timeout: slowMs })
      const lines = page.getByRole('region', { name: 'Lines of the log' })
      await lines.getByText('colour <b>text</b>', { exact: true }).waitFor()
      expect(await lines.locator('b').count()).toBe(0)
      await page.getByRole('table', { name: 'Steps' }).getByText('COPY app.py .').waitFor()
      expect(await faultsOf(page, 'light')).toEqual([])
      await using runtime = await createRuntime({ template: name })
      expect(await visit<unknown>(runtime, 5000, '/')).toMatchObject({
        visitor: 1,
        text: expect.stringContaining('text'),
      })
      expect(opened.complaints).toEqual([])
    } finally {
      await call('DELETE', `${templatesPath}/${name}`)
    }
  },
  slowMs + 120_000,
)

/** The example installs Flask from a package index. */
const hasIndex = Object.keys(rig.packageIndex).length > 0

/** The authorities of this machine. Its package index may be a mirror with one of its own. */
const authorities = '/etc/ssl/certs/ca-certificates.crt'

/** The lines of the example, on the base template, which needs no registry. */
const flask = `FROM holt/base-small
USER root
COPY ca-certificates.crt /srv/
ENV PIP_CERT=/srv/ca-certificates.crt
RUN pip install --no-cache-dir flask
WORKDIR /srv
COPY app.py .
`

describe.skipIf(!hasIndex && !process.env.CI)('the example of the console', () => {
  beforeAll(async () => {
    for (const [host, addresses] of Object.entries(rig.packageIndex)) await pointName(host, addresses)
  })
  afterAll(async () => {
    for (const host of Object.keys(rig.packageIndex)) await pointName(host, [rig.listedAddress])
  })

  it('lets a newcomer build the Flask template, and open the port of its runtime', {
    timeout: slowMs * 2,
  }, async () => {
    const opened = await openWindow()
    const { page, context } = opened
    const name = `flask-${Date.now().toString(36)}`
    try {
      await openByLink({ server: service, ask }, opened)
      await page.getByRole('link', { name: 'Templates' }).click()
      await page.getByRole('link', { name: 'Build a template' }).click()
      await page.getByRole('button', { name: 'A Flask application' }).click()
      await page.getByText('4 supported, 0 ignored, 0 refused.').waitFor()
      await page.locator('.cm-content').click()
      await page.keyboard.press('Control+a')
      await page.keyboard.insertText(flask)
      await page.getByText('7 supported, 0 ignored, 0 refused.').waitFor()
      await page.locator('input[type=file]:not([webkitdirectory])').setInputFiles(authorities)
      await page.getByText(/^2 files, /).waitFor()
      await page.getByLabel('Name of the template').fill(name)
      await page.getByRole('button', { name: 'Build', exact: true }).click()
      await page.getByRole('heading', { name: `Build of ${name}` }).waitFor()
      await page.getByText('The template is ready.').waitFor({ timeout: slowMs })
      await page.getByRole('table', { name: 'Steps' }).getByText('Start python app.py').waitFor()

      await page.getByRole('link', { name: 'Start a runtime' }).click()
      await page.getByLabel('Name', { exact: true }).fill(name)
      await page.getByRole('button', { name: 'Create', exact: true }).click()
      await page.getByRole('region', { name: 'Notices' }).getByRole('button', { name: 'Open' }).click()
      await page.getByRole('heading', { name }).waitFor()
      await page.getByRole('link', { name: 'Ports', exact: true }).click()
      await page.getByRole('button', { name: 'Reach port 5000' }).click()
      const opening = context.waitForEvent('page')
      await page.getByRole('button', { name: 'Open in a new tab' }).click()
      const site = await opening
      await site.getByText(/visitor \d+ of process \d+/).waitFor()
      expect(new URL(site.url()).hostname).toMatch(/^5000-/)
      expect(opened.complaints).toEqual([])
    } finally {
      for (const { runtime_id } of (await ask('GET', `/v1/agents/runtime?name=${name}`)).json.data)
        await call('DELETE', `/v1/agents/runtime/${runtime_id}`)
      await call('DELETE', `${templatesPath}/${name}`)
    }
  })
})
