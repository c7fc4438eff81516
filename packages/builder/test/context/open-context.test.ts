import { execFileSync } from 'node:child_process'
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { contextOfBytes } from '../support/context-archive.ts'

const mib = 2 ** 20

/** An archive of a sparse file of this size, with a byte of content after each such distance. */
function sparseArchive({ size, every }: { size: number; every: number }): Buffer {
  const directory = mkdtempSync(join(tmpdir(), 'holt-holes-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const file = openSync(join(directory, 'sparse'), 'w')
  for (let at = every; at < size; at += every) writeSync(file, 'x', at)
  ftruncateSync(file, size)
  closeSync(file)
  return execFileSync('tar', ['-C', directory, '--sparse', '--format=pax', '-cf', '-', '.'], { maxBuffer: 64 * mib })
}

test.each([
  ['one large hole', { size: 1024 * mib, every: 2048 * mib }],
  ['many holes of a file', { size: 1024 * mib, every: 5 * mib }],
])('reading a small archive with %s delays no other work', async (_, shape) => {
  const bytes = sparseArchive(shape)
  expect(bytes.length).toBeLessThan(mib)
  const begunAt = performance.now()
  let longestMs = 0
  let lastAt = begunAt
  let other = setImmediate(function again() {
    const now = performance.now()
    longestMs = Math.max(longestMs, now - lastAt)
    lastAt = now
    other = setImmediate(again)
  })
  await contextOfBytes(bytes)
  clearImmediate(other)
  const endedAt = performance.now()
  expect(Math.max(longestMs, endedAt - lastAt)).toBeLessThan((endedAt - begunAt) / 2)
})
