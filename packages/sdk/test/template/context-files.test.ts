import { execFileSync } from 'node:child_process'
import { posix } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Holt } from '../../src/index.ts'
import { parseIgnoreFile } from '../../src/template/ignore-file.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

let service: TestService
let holt: Holt
beforeEach(async () => {
  service = await startTestService()
  holt = new Holt({ url: service.url, apiKey: service.key })
})
afterEach(() => service.close())

/** Runs tar on an uploaded context, and returns its output. */
function tar(contextId: string, ...options: readonly string[]): string {
  return execFileSync('tar', ['-f', '-', '--numeric-owner', ...options], {
    input: service.contexts.get(contextId),
    env: { ...process.env, TZ: 'UTC', LC_ALL: 'C.UTF-8' },
  }).toString()
}

test('files of memory become a context with modes, times, directories and long names', async () => {
  const long = `${'long '.repeat(40)}é.txt`
  const { context_id, size_bytes } = await holt.builds.uploadFiles([
    { path: 'app.py', content: 'print("é")\n', mtime: new Date(1_000_000_000_000) },
    { path: 'bin/deep/run.sh', content: new Blob(['#!/bin/sh\n', 'true\n']) },
    { path: 'bin/program', content: new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 2]) },
    { path: 'secret', content: 'x', mode: 0o600 },
    { path: 'empty', content: '' },
    { path: 'full', content: 'x'.repeat(1024) },
    { path: long, content: 'of a long name' },
  ])
  expect(service.contexts.get(context_id)).toHaveLength(size_bytes)
  const listed = tar(context_id, '-tv', '--quoting-style=literal')
  expect(listed).toMatch(/^drwxr-xr-x 0\/0 .* \.\/$/m)
  expect(listed).toMatch(/^-rw-r--r-- 0\/0 +12 2001-09-09 01:46 app\.py$/m)
  expect(listed).toMatch(/^drwxr-xr-x .* bin\/deep\/$/m)
  expect(listed).toMatch(/^-rwxr-xr-x .* bin\/deep\/run\.sh$/m)
  expect(listed).toMatch(/^-rwxr-xr-x .* 5 .* bin\/program$/m)
  expect(listed).toMatch(/^-rw------- .* secret$/m)
  expect(tar(context_id, '-xO', 'app.py')).toBe('print("é")\n')
  expect(tar(context_id, '-xO', 'full')).toBe('x'.repeat(1024))
  expect(tar(context_id, '-xO', 'empty')).toBe('')
  expect(tar(context_id, '-xO', long)).toBe('of a long name')
})

test('files that the .dockerignore excludes stay out, and the last file of a path is sent', async () => {
  const files = [
    { path: '.dockerignore', content: 'node_modules\n*.key\n!kept.key\n' },
    { path: 'node_modules/x/y.js', content: 'x' },
    { path: 'a.key', content: 'x' },
    { path: 'kept.key', content: 'old' },
    { path: 'kept.key', content: 'new' },
  ]
  const { context_id } = await holt.builds.uploadFiles(files)
  expect(tar(context_id, '-t').split('\n')).toEqual(['./', '.dockerignore', 'kept.key', ''])
  expect(tar(context_id, '-xO', 'kept.key')).toBe('new')
  const own = [...files, { path: 'prod.dockerignore', content: '*.dockerignore\n.dockerignore\nnode_modules/x\n' }]
  const kept = await holt.builds.includedFiles(own, { dockerfile: 'prod' })
  expect(kept.map(({ path }) => path)).toEqual(['a.key', 'kept.key'])
})

test.each(['../up', '/etc/passwd', 'a//b', '', 'a/./b', 'a/..', 'nul\0'])('refuses the path %j', async (path) => {
  await expect(holt.builds.uploadFiles([{ path, content: 'x' }])).rejects.toMatchObject({ code: 'invalid_request' })
  expect(service.count('uploadContext')).toBe(0)
})

test('a lost answer is asked for again, with the same bytes', async () => {
  service.faults.push({ route: 'uploadContext', type: 'refuse', headers: { 'retry-after': '0' } })
  const { context_id } = await holt.builds.uploadFiles([{ path: 'a', content: 'hello' }])
  expect(tar(context_id, '-xO', 'a')).toBe('hello')
  expect(service.count('uploadContext')).toBe(2)
})

test('patterns are cleaned as paths are', () => {
  const parts = ['', '.', '..', 'a', 'b']
  const texts = parts.flatMap((one) => parts.flatMap((two) => parts.map((three) => `${one}/${two}/${three}`)))
  for (const text of texts) {
    const clean = posix.normalize(text).replace(/(?<=.)\/+$/, '')
    const path = clean.replace(/^\//, '')
    if (path !== '') expect([text, parseIgnoreFile(text, 'x').ignores(path)]).toEqual([text, true])
  }
})
