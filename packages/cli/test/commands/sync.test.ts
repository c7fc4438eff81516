import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Holt, type Runtime } from '../../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { endOf, runHolt, startHolt } from '../support/run-holt.ts'

let service: TestService
let runtime: Runtime
let cwd: string
beforeEach(async () => {
  service = await startTestService()
  runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'mine' })
  cwd = await mkdtemp(join(tmpdir(), 'holt-sync-test-'))
  await mkdir(join(cwd, 'tree/sub'), { recursive: true })
  await writeFile(join(cwd, 'tree/a'), 'one')
  await writeFile(join(cwd, 'tree/sub/b.log'), 'log')
  await symlink('a', join(cwd, 'tree/link'))
})
afterEach(async () => {
  await service.close()
  await rm(cwd, { recursive: true, force: true })
})

const sync = (...args: string[]) => runHolt(['sync', 'tree', 'mine:/t', ...args], { service, cwd })
const there = async (path = '/t') =>
  (await readdir(service.place(runtime.runtime_id, path), { recursive: true })).sort()
const result = async (...args: string[]) => JSON.parse((await sync('--json', ...args)).stdout)

describe('holt sync', () => {
  test('sends everything at first, then only changes', async () => {
    const first = await sync()
    expect(first).toMatchObject({ code: 0, stdout: '' })
    expect(first.stderr).toContain('holt: sent 4 (6 B), removed 0, 0 unchanged')
    expect(await there()).toEqual(['a', 'link', 'sub', 'sub/b.log'])
    expect(await result()).toMatchObject({ sent: [], unchanged: 4 })
    await writeFile(join(cwd, 'tree/a'), 'two')
    await chmod(join(cwd, 'tree/sub/b.log'), 0o600)
    expect(await result()).toMatchObject({ sent: ['a', 'sub/b.log'], removed: [], unchanged: 2, size_bytes: 6 })
    expect(await runtime.files.readText('/t/a')).toBe('two')
  })

  test('removes only with --delete, and never excluded files', async () => {
    await sync()
    await runtime.files.write('/t/extra/deep', 'x')
    await runtime.files.write('/t/extra.log', 'x')
    expect(await result()).toMatchObject({ sent: [], removed: [] })
    const dry = await sync('--delete', '--exclude', '*.log', '--dry-run')
    expect(dry.stdout).toBe('remove  extra\n')
    expect(await there()).toContain('extra/deep')
    expect(await result('--delete', '--exclude', '*.log')).toMatchObject({ removed: ['extra'] })
    expect(await there()).toEqual(['a', 'extra.log', 'link', 'sub', 'sub/b.log'])
  })

  test('excludes files of .holtignore, and with --gitignore those of .gitignore', async () => {
    await writeFile(join(cwd, 'tree/.holtignore'), 'secret*\n')
    await writeFile(join(cwd, 'tree/secret.txt'), 'x')
    await writeFile(join(cwd, 'tree/.gitignore'), '*.log\nbuild/\n')
    await writeFile(join(cwd, 'tree/sub/.gitignore'), '!b.log\n')
    await writeFile(join(cwd, 'tree/c.log'), 'x')
    for (const folder of ['build', '.git']) {
      await mkdir(join(cwd, 'tree', folder))
      await writeFile(join(cwd, 'tree', folder, 'f'), 'x')
    }
    await sync('--gitignore')
    expect(await there()).toEqual(['.gitignore', '.holtignore', 'a', 'link', 'sub', 'sub/.gitignore', 'sub/b.log'])
    await sync()
    expect(await there()).toContain('build/f')
    expect(await there()).not.toContain('secret.txt')
  })

  test('compares content with --checksum', async () => {
    await sync()
    await writeFile(join(cwd, 'tree/a'), 'one')
    expect(await result('--checksum')).toMatchObject({ sent: [], unchanged: 4 })
    await writeFile(join(cwd, 'tree/a'), 'two')
    expect(await result('--checksum')).toMatchObject({ sent: ['a'] })
  })

  test('sends changes with --watch, until Ctrl-C', async () => {
    const child = startHolt(['sync', 'tree', 'mine:/t', '--watch', '--delete'], { service, cwd })
    const ended = endOf(child)
    await vi.waitFor(async () => expect(await there()).toContain('a'), 30_000)
    await writeFile(join(cwd, 'tree/a'), 'changed')
    await mkdir(join(cwd, 'tree/new/deep'), { recursive: true })
    await writeFile(join(cwd, 'tree/new/deep/f'), 'x')
    await rm(join(cwd, 'tree/link'))
    const wanted = ['a', 'new', 'new/deep', 'new/deep/f', 'sub', 'sub/b.log']
    await vi.waitFor(async () => expect(await there()).toEqual(wanted), 30_000)
    await vi.waitFor(async () => expect(await runtime.files.readText('/t/a')).toBe('changed'), 30_000)
    child.kill('SIGINT')
    const { code, stderr } = await ended
    expect(code).toBe(130)
    expect(stderr).toContain('holt: following')
    expect(stderr).toMatch(/holt: ended; followed changes: \d+ sent, 1 removed/)
  })

  test.each([
    ['a place that is in no runtime', ['sync', 'tree', 'there'], 'RUNTIME:/PATH'],
    ['to follow and only to say', ['sync', 'tree', 'mine:/t', '--watch', '--dry-run'], 'one of --watch and --dry-run'],
  ])('%s is wrong usage', async (_, args, told) => {
    expect(await runHolt(args, { service, cwd })).toMatchObject({ code: 2, stderr: expect.stringContaining(told) })
  })

  test('a missing local directory is an error', async () => {
    expect(await runHolt(['sync', 'none', 'mine:/t'], { service, cwd })).toMatchObject({ code: 1 })
    expect(await readFile(join(cwd, 'tree/a'), 'utf8')).toBe('one')
  })
})
