import { expect, it } from 'vitest'
import { openByLink, openWindow } from '../packages/console/test/support/browser.ts'
import { faultsOf } from '../packages/console/test/support/faults-of.ts'
import { call } from './support/api.ts'
import { service } from './support/facts.ts'
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

it(
  'the console builds a template whose application runs when a runtime begins',
  async () => {
    const name = `console-${Date.now().toString(36)}`
    const opened = await openWindow()
    const { page } = opened
    const ask = async (method: string, path: string) => ({ json: JSON.parse((await call(method, path)).text) })
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
