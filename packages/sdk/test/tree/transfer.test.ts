import { execFileSync } from 'node:child_process'
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt, type Runtime } from '../../src/index.ts'
import { readContextTree } from '../../src/template/context-tree.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

let service: TestService
let runtime: Runtime
let here: string
beforeEach(async () => {
  service = await startTestService()
  runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create()
  here = await mkdtemp(join(tmpdir(), 'holt-tree-'))
})
afterEach(async () => {
  await service.close()
  await rm(here, { recursive: true, force: true })
})

async function makeTree(root: string): Promise<void> {
  await mkdir(join(root, 'a/b'), { recursive: true })
  await mkdir(join(root, 'empty'))
  for (let i = 0; i < 30; i++) await writeFile(join(root, 'a', `file ${i}`), `content ${i}`)
  await writeFile(join(root, 'a/b/run.sh'), '#!/bin/sh\n')
  await chmod(join(root, 'a/b/run.sh'), 0o755)
  await writeFile(join(root, 'big'), Buffer.alloc(3_000_000, 'x'))
  await symlink('a/b/run.sh', join(root, 'link'))
  await symlink('nowhere', join(root, 'a/dangling'))
  await link(join(root, 'big'), join(root, 'a/same'))
  await writeFile(join(root, `${'long '.repeat(50)}é`), 'long')
  await utimes(join(root, 'a/b/run.sh'), 1_000_000_000.123, 1_000_000_000.123)
  await utimes(join(root, 'a'), 1_000_000_001, 1_000_000_001)
}

function same(left: string, right: string): boolean {
  execFileSync('diff', ['-r', '--no-dereference', left, right])
  return true
}

test('a tree is unchanged after both transfers', async () => {
  await makeTree(join(here, 'tree'))
  const progress: number[] = []
  const sent = await runtime.files.upload(join(here, 'tree'), '/work/tree', {
    onProgress: ({ files }) => progress.push(files),
  })
  expect(sent).toMatchObject({ files: 34, directories: 4, symlinks: 2, skipped: [] })
  expect(progress.at(-1)).toBe(34)
  const got = await runtime.files.download('/work/tree', join(here, 'back'))
  expect(got).toMatchObject({ files: 34, directories: 4, symlinks: 2, skipped: [] })
  expect(same(join(here, 'tree'), join(here, 'back'))).toBe(true)
  expect((await stat(join(here, 'back/a/b/run.sh'))).mode & 0o777).toBe(0o755)
  expect(await readlink(join(here, 'back/link'))).toBe('a/b/run.sh')
  expect((await stat(join(here, 'back/a/b/run.sh'))).mtimeMs).toBe(1_000_000_000_123)
  expect((await stat(join(here, 'back/a'))).mtimeMs).toBe(1_000_000_001_000)
  expect((await stat(join(here, 'back/a/same'))).ino).toBe((await stat(join(here, 'back/big'))).ino)
})

test('an existing destination is kept, or replaced and never merged', async () => {
  await makeTree(join(here, 'tree'))
  await runtime.files.write('/work/tree/old', 'old')
  await expect(runtime.files.upload(join(here, 'tree'), '/work/tree')).rejects.toMatchObject({ code: 'already_exists' })
  await runtime.files.upload(join(here, 'tree'), '/work/tree', { overwrite: true })
  expect(await runtime.files.exists('/work/tree/old')).toBe(false)
  await expect(runtime.files.download('/work/tree', here)).rejects.toMatchObject({ code: 'already_exists' })
  await mkdir(join(here, 'back'))
  await writeFile(join(here, 'back/old'), 'old')
  await runtime.files.download('/work/tree', join(here, 'back'), { overwrite: true })
  expect(same(join(here, 'tree'), join(here, 'back'))).toBe(true)
})

test('an upload that fails leaves nothing behind', async () => {
  await makeTree(join(here, 'tree'))
  service.faults.push({ route: 'writeArchive', type: 'refuse', code: 'disk_full' })
  await expect(runtime.files.upload(join(here, 'tree'), '/work/tree')).rejects.toMatchObject({ code: 'disk_full' })
  expect(await runtime.files.exists('/work/tree')).toBe(false)
})

test('a download that fails leaves nothing behind', async () => {
  await runtime.files.write('/tree/a', 'a')
  await runtime.files.write('/tree/b', 'b')
  service.faults.push({ route: 'readArchive', type: 'refuse', code: 'path_permission_denied' })
  await expect(runtime.files.download('/tree', join(here, 'back'))).rejects.toMatchObject({
    code: 'path_permission_denied',
  })
  expect(await readdir(here)).toEqual([])
})

test('names that are not UTF-8 are reported by their bytes, and the rest of a download arrives', async () => {
  await runtime.files.write('/tree/file', 'x')
  const at = (name: string) => Buffer.from(`${service.place(runtime.runtime_id, '/tree')}/${name}`, 'latin1')
  await writeFile(at('a\xff'), '')
  await writeFile(at('a\xfe'), '')
  const got = await runtime.files.download('/tree', join(here, 'back'))
  const reason = 'its name is not UTF-8'
  expect(got.skipped.toSorted((one, other) => (one.path < other.path ? -1 : 1))).toEqual([
    { path: 'a\\xfe', reason },
    { path: 'a\\xff', reason },
  ])
  expect(await readdir(join(here, 'back'))).toEqual(['file'])
})

test('a symlink that leads outside is skipped and reported', async () => {
  await runtime.files.write('/tree/file', 'x')
  await symlink('/etc/passwd', service.place(runtime.runtime_id, '/tree/out'))
  const got = await runtime.files.download('/tree', join(here, 'back'))
  expect(got.skipped).toEqual([{ path: 'out', reason: 'the symlink to /etc/passwd leads out of the tree' }])
  expect(await readdir(join(here, 'back'))).toEqual(['file'])
})

describe('a file that cannot be sent', () => {
  /**
   * Makes a tree with an entry of each kind that cannot be sent, and a file beside and below each.
   */
  async function makeUnsendable(root: string): Promise<void> {
    await mkdir(join(root, 'sub'), { recursive: true })
    await writeFile(join(root, 'a.txt'), 'a')
    await writeFile(join(root, 'sub/b.txt'), 'b')
    execFileSync('mkfifo', [join(root, 'pipe'), join(root, 'sub/pipe')])
    execFileSync('python3', [
      '-c',
      'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])',
      join(root, 'ear'),
    ])
    const at = (name: string) => Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, 'latin1')])
    await writeFile(at('odd\xff'), '')
    await mkdir(at('dir\xfe'))
    await writeFile(at('dir\xfe/inner'), '')
    await symlink(Buffer.from('to\xff', 'latin1'), join(root, 'link'))
  }
  const kind = 'it is a socket, a device or a FIFO'
  const wanted = [
    { path: 'dir\\xfe', reason: 'its name is not UTF-8' },
    { path: 'ear', reason: kind },
    { path: 'link', reason: 'its link target is not UTF-8' },
    { path: 'odd\\xff', reason: 'its name is not UTF-8' },
    { path: 'pipe', reason: kind },
    { path: 'sub/pipe', reason: kind },
  ]
  const sorted = (skipped: readonly { readonly path: string; readonly reason: string }[]) =>
    skipped.toSorted((a, b) => (a.path < b.path ? -1 : 1))

  test('is reported by an upload, and the rest arrives', async () => {
    const tree = join(here, 'tree')
    await makeUnsendable(tree)
    const result = await runtime.files.upload(tree, '/t')
    expect(sorted(result.skipped)).toEqual(wanted)
    expect(result).toMatchObject({ files: 2, directories: 2, symlinks: 0 })
    expect(await runtime.files.readText('/t/sub/b.txt')).toBe('b')
    expect(await runtime.files.exists('/t/link')).toBe(false)
  })

  test('is reported by a sync, which keeps the remote file of that name, and the rest arrives', async () => {
    const tree = join(here, 'tree')
    await makeUnsendable(tree)
    await runtime.files.write('/t/pipe', 'kept')
    await runtime.files.write('/t/surplus', 'removed')
    const result = await runtime.files.sync(tree, '/t', { delete: true })
    expect(sorted(result.skipped)).toEqual(wanted)
    expect(result).toMatchObject({ sent: ['a.txt', 'sub', 'sub/b.txt'], removed: ['surplus'] })
    expect(await runtime.files.readText('/t/pipe')).toBe('kept')
    const filtered = await runtime.files.sync(tree, '/t', { keeps: (path) => !/pipe|ear|link|\uFFFD/.test(path) })
    expect(filtered.skipped).toEqual([])
  })

  test('is reported by a context, and the rest is in it', async () => {
    const tree = join(here, 'tree')
    await makeUnsendable(tree)
    const { entries, skipped } = await readContextTree(tree, {})
    expect(sorted(skipped)).toEqual(wanted)
    expect(entries.map(({ path }) => path)).toEqual(['', 'a.txt', 'sub', 'sub/b.txt'])
  })
})

test('an aborted transfer cleans up', async () => {
  await makeTree(join(here, 'tree'))
  const controller = new AbortController()
  const onProgress = () => controller.abort(new Error('stop'))
  await expect(
    runtime.files.upload(join(here, 'tree'), '/work/tree', { signal: controller.signal, onProgress }),
  ).rejects.toThrow('stop')
  expect(await runtime.files.exists('/work/tree')).toBe(false)
  expect(await readFile(join(here, 'tree/link'), 'utf8')).toBe('#!/bin/sh\n')
})
