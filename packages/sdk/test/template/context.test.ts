import { execFileSync } from 'node:child_process'
import { truncateSync, writeFileSync } from 'node:fs'
import { chmod, link, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Holt } from '../../src/index.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

let service: TestService
let holt: Holt
let here: string
beforeEach(async () => {
  service = await startTestService()
  holt = new Holt({ url: service.url, apiKey: service.key })
  here = await mkdtemp(join(tmpdir(), 'holt-context-'))
})
afterEach(async () => {
  await service.close()
  await rm(here, { recursive: true, force: true })
})

/** Returns the content of an uploaded context, as tar lists it. */
function listed(contextId: string, verbose = false): string[] {
  const input = service.contexts.get(contextId)
  const flags = verbose ? '-tvf' : '-tf'
  const lines = execFileSync('tar', [flags, '-', '--full-time', '--numeric-owner'], { input }).toString()
  return lines.split('\n').filter((line) => line !== '')
}

async function write(path: string, content = path): Promise<void> {
  await mkdir(join(here, path, '..'), { recursive: true })
  await writeFile(join(here, path), content)
}

test('a directory is sent with modes, times, links and long names, owned by root', async () => {
  await write('bin/run.sh', '#!/bin/sh\n')
  await chmod(join(here, 'bin/run.sh'), 0o755)
  await utimes(join(here, 'bin/run.sh'), 1_000_000_000, 1_000_000_000)
  await symlink('/outside/../é', join(here, 'link'))
  await write(`${'long '.repeat(30)}é`)
  await link(join(here, 'bin/run.sh'), join(here, 'same'))
  await write('set')
  await chmod(join(here, 'set'), 0o5755)
  const sent = await holt.builds.uploadContext(here)
  expect(sent).toMatchObject({ skipped: [], size_bytes: service.contexts.get(sent.context_id)?.length })
  const lines = listed(sent.context_id, true).join('\n')
  expect(lines).toMatch(/-rwxr-xr-x 0\/0 +10 2001-09-09 01:46:40 +bin\/run\.sh/)
  expect(lines).toContain('link -> /outside/../')
  expect(lines).toMatch(/^hrwxr-xr-x.* same link to bin\/run\.sh$/m)
  expect(lines).toMatch(/^-rwsr-xr-t.* set$/m)
  expect(lines).toContain('long long')
})

test('names in .dockerignore stay out, and exceptions come with their directories', async () => {
  for (const path of ['src/a.ts', 'node_modules/x/y', 'docs/a.md', 'docs/deep/keep.md', 'docs/deep/b.md', 'Dockerfile'])
    await write(path)
  await write('.dockerignore', 'node_modules\ndocs\n!docs/deep/keep.md\nDockerfile\n')
  const { context_id } = await holt.builds.uploadContext(here)
  expect(listed(context_id)).toEqual([
    './',
    '.dockerignore',
    'docs/',
    'docs/deep/',
    'docs/deep/keep.md',
    'src/',
    'src/a.ts',
  ])
})

test('the ignore file of a Dockerfile is used before that of the directory', async () => {
  for (const path of ['a', 'b', 'build/prod.Dockerfile']) await write(path)
  await write('.dockerignore', 'a')
  await write('build/prod.Dockerfile.dockerignore', 'b\nbuild')
  const { context_id } = await holt.builds.uploadContext(here, { dockerfile: join(here, 'build/prod.Dockerfile') })
  expect(listed(context_id)).toEqual(['./', '.dockerignore', 'a'])
})

test('only the needed files are sent, with their directories', async () => {
  for (const path of ['a/b/c', 'a/b2', 'a/bc/x', 'z']) await write(path)
  const { context_id } = await holt.builds.uploadContext(here, { only: ['a/b', 'nowhere'] })
  expect(listed(context_id)).toEqual(['./', 'a/', 'a/b/', 'a/b/c'])
})

test('a FIFO is skipped and reported, unless a rule excludes it', async () => {
  execFileSync('mkfifo', [join(here, 'pipe'), join(here, 'quiet')])
  await write('.dockerignore', 'quiet')
  const { context_id, skipped } = await holt.builds.uploadContext(here)
  expect(skipped).toEqual([{ path: 'pipe', reason: 'it is a socket, a device or a FIFO' }])
  expect(listed(context_id)).toEqual(['./', '.dockerignore'])
})

test('progress counts every file, and a refused upload is sent again', async () => {
  for (let index = 0; index < 40; index++) await write(`f${index}`, 'x'.repeat(index))
  await write('big', 'x'.repeat(3_000_000))
  service.faults.push({ route: 'uploadContext', type: 'refuse', headers: { 'retry-after': '0' } })
  const progress: unknown[] = []
  const { context_id } = await holt.builds.uploadContext(here, { onProgress: (one) => progress.push(one) })
  const total = 3_000_000 + (39 * 40) / 2
  expect(progress.at(-1)).toEqual({ files: 41, bytes: total, totalFiles: 41, totalBytes: total })
  expect(listed(context_id)).toHaveLength(42)
})

test('a file that shrinks during the upload ends it with its name', async () => {
  for (const name of ['a', 'b', 'c']) await write(name, 'x'.repeat(8_000_000))
  let cut = false
  const failure = holt.builds.uploadContext(here, {
    onProgress: () => {
      if (!cut) truncateSync(join(here, 'c'), 10)
      cut = true
    },
  })
  await expect(failure).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('c got shorter') })
  expect(service.contexts.size).toBe(0)
})

test('a path that is not a directory is refused, and a wrong pattern names its line', async () => {
  await write('file')
  await expect(holt.builds.uploadContext(join(here, 'file'))).rejects.toMatchObject({ code: 'not_a_directory' })
  await write('.dockerignore', 'a\n[b')
  await expect(holt.builds.uploadContext(here)).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('.dockerignore, line 2: [b'),
  })
})

test('a file that changes after a try with a lost answer is sent under another key', async () => {
  await write('log', 'old')
  service.faults.push(
    { route: 'uploadContext', type: 'lose' },
    { route: 'uploadContext', type: 'refuse', code: 'idempotency_mismatch' },
  )
  service.onCall = (route) => {
    if (route === 'uploadContext') writeFileSync(join(here, 'log'), 'new')
  }
  const { context_id } = await holt.builds.uploadContext(here)
  expect(service.contexts.get(context_id)?.toString()).toContain('new')
  const keys = service.calls.flatMap(({ route, headers }) =>
    route === 'uploadContext' ? [headers['idempotency-key']] : [],
  )
  expect(keys).toHaveLength(3)
  expect(keys[1]).toBe(keys[0])
  expect(keys[2]).not.toBe(keys[0])
})
