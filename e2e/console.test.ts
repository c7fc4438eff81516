import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { openByLink, openWindow, type Visit } from '../packages/console/test/support/browser.ts'
import { call } from './support/api.ts'
import { service } from './support/facts.ts'
import { repository } from './support/service-process.ts'

/** A runtime boots, and commands run, on a machine that may be busy. */
const slowMs = 300_000

const project = join(repository, 'examples/quickstart/project')

/** The last line of the function with the fault, and the lines in its place. */
const wrong = 'return {name: cents * weight // total for name, weight in weights.items()}'
const right = [
  'shares = {name: cents * weight // total for name, weight in weights.items()}',
  '    left = cents - sum(shares.values())',
  '    for name in [name for name, weight in weights.items() if weight > 0][:left]:',
  '        shares[name] += 1',
  '    return shares',
].join('\n')

/** Runs a command in the tab of commands, and waits for its exit code. */
async function runCommand({ page }: Visit, command: string, exitCode: number): Promise<void> {
  await page.getByRole('link', { name: 'Commands', exact: true }).click()
  await page.getByLabel('Command', { exact: true }).fill(command)
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  const shown = page.getByRole('region', { name: 'The command' })
  await shown.getByText(command).first().waitFor()
  await shown.getByText(`exit code ${exitCode}`).waitFor({ timeout: 60_000 })
}

it('a newcomer with only the console tests, repairs, runs and downloads a project', { timeout: slowMs }, async () => {
  const name = `console-${Date.now().toString(36)}`
  const opened = await openWindow()
  const { page } = opened
  const ask = async (method: string, path: string) => ({ json: JSON.parse((await call(method, path)).text) })
  await openByLink({ server: service, ask }, opened)
  try {
    await page.getByRole('button', { name: 'Create a runtime' }).click()
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('link', { name }).click({ timeout: 120_000 })
    // Upload the project.
    await page.getByRole('link', { name: 'Files', exact: true }).click()
    await page.getByRole('button', { name: 'Upload a directory' }).waitFor()
    await page.locator('input[type=file]').nth(1).setInputFiles(project)
    const row = page.getByRole('row').filter({ has: page.getByText('project/', { exact: true }) })
    await row.waitFor()
    await page.getByText(/^(\d+) of \1 files uploaded$/).waitFor()
    // Its tests fail.
    await runCommand(opened, 'cd project && python -m unittest', 1)
    // Repair it in the editor.
    const source = await readFile(join(project, 'splitbill/split.py'), 'utf8')
    expect(source).toContain(wrong)
    await page.getByRole('link', { name: 'Files', exact: true }).click()
    for (const place of ['project/', 'splitbill/', 'split.py'])
      await page.getByRole('grid', { name: 'Files' }).getByRole('link', { name: place, exact: true }).click()
    await page.locator('.cm-content').getByText('def split_by_weight').waitFor()
    await page.locator('.cm-content').press('Control+a')
    // The browser would give the new text the look of the old one, as an inline style.
    await page.keyboard.press('Delete')
    await page.keyboard.insertText(source.replace(wrong, right))
    await page.keyboard.press('Control+s')
    await page.getByText('Saved', { exact: true }).waitFor()
    // Its tests pass, and it runs.
    await runCommand(opened, 'cd project && python -m unittest', 0)
    await runCommand(opened, 'cd project && python -m splitbill 10.00 ada=1 bob=2', 0)
    // Download the result.
    await page.getByRole('link', { name: 'Files', exact: true }).click()
    await row.locator('label').click()
    const [result] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    expect(result.suggestedFilename()).toBe('project.tar.gz')
    expect(gunzipSync(await readFile(await result.path())).toString()).toContain('shares[name] += 1')
    expect(opened.complaints).toEqual([])
  } finally {
    const { data } = JSON.parse((await call('GET', `/v1/agents/runtime?name=${name}`)).text)
    for (const { runtime_id } of data) await call('DELETE', `/v1/agents/runtime/${runtime_id}`)
  }
})
