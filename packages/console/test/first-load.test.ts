import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

test('the first load has at most 250 KiB, also with gzip, and needs no inline code', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'holt-console-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const out = join(dir, 'console')
  await promisify(execFile)(process.execPath, ['scripts/build-console.ts', out])
  const page = readFileSync(join(out, 'index.html'), 'utf8')
  const files = [...page.matchAll(/(?:src|href)="\/console\/([^"]+)"/g)].map(([, name = '']) => name)
  expect(files.length).toBeGreaterThan(2)
  for (const name of files) expect(name).toMatch(/^assets\/[\w-]+-[\w-]{8}\.(?:js|css|svg)$/)
  for (const coding of ['br', 'gz']) {
    const bytes = ['index.html', ...files].map((name) => statSync(join(out, `${name}.${coding}`)).size)
    expect(bytes.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(250 * 1024)
  }
  expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/)
}, 240_000)
