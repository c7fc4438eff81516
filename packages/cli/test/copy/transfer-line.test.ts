import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { amount, progressText } from '../../src/copy/transfer-line.ts'

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1536, '1.5 KiB'],
  [10 * 1024 * 1024, '10 MiB'],
  [3 * 1024 ** 4, '3 TiB'],
])('%i bytes are %s', (bytes, text) => {
  expect(amount(bytes)).toBe(text)
})

test('a transfer shows the known numbers', () => {
  const progress = { files: 3, bytes: 2048, totalFiles: 10, totalBytes: 4096 }
  expect(progressText(progress, 1024)).toBe('3 of 10 files, 2 KiB of 4 KiB, 1 KiB/s')
  expect(progressText({ ...progress, totalFiles: null, totalBytes: null }, null)).toBe('3 files, 2 KiB')
})

test('a terminal has one line, which is redrawn and removed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holt-line-'))
  const module = new URL('../../src/copy/transfer-line.ts', import.meta.url)
  await writeFile(
    join(folder, 'show.ts'),
    `const { TransferLine } = await import(${JSON.stringify(module.href)})
const line = new TransferLine('Copying')
for (const files of [1, 2]) {
  line.update({ files, bytes: files * 1024, totalFiles: 2, totalBytes: 2048 })
  await new Promise((resolve) => setTimeout(resolve, 200))
}
line.clear()`,
  )
  const shown = execFileSync('script', [
    '-qec',
    `stty cols 80; ${process.execPath} ${join(folder, 'show.ts')}`,
    '/dev/null',
  ])
  await rm(folder, { recursive: true })
  const text = shown.toString()
  expect(text).toContain('\r\u001b[KCopying: 1 of 2 files, 1 KiB of 2 KiB')
  expect(text).toMatch(/Copying: 2 of 2 files, 2 KiB of 2 KiB, [\d.]+ \w+\/s\r\u001b\[K$/)
})
