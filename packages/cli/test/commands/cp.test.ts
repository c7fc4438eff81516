import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Holt, type Runtime } from '../../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { runHolt } from '../support/run-holt.ts'

let service: TestService
let runtime: Runtime
let cwd: string
beforeEach(async () => {
  service = await startTestService()
  runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'mine' })
  cwd = await mkdtemp(join(tmpdir(), 'holt-cp-test-'))
})
afterEach(async () => {
  await service.close()
  await rm(cwd, { recursive: true, force: true })
})

const cp = (...args: string[]) => runHolt(['cp', ...args], { service, cwd })

test('a file is copied both ways with its mode', async () => {
  await writeFile(join(cwd, 'run.sh'), 'content')
  await chmod(join(cwd, 'run.sh'), 0o755)
  expect(await cp('run.sh', 'mine:/work/')).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(await cp('mine:/work/run.sh', 'back')).toMatchObject({ code: 0 })
  expect(await readFile(join(cwd, 'back'), 'utf8')).toBe('content')
  expect((await stat(join(cwd, 'back'))).mode & 0o777).toBe(0o755)
})

test('an existing file is kept unless --overwrite is given', async () => {
  await writeFile(join(cwd, 'a'), 'new')
  await runtime.files.write('/a', 'old')
  expect(await cp('a', 'mine:/a')).toMatchObject({ code: 1, stderr: expect.stringContaining('exists') })
  expect(await cp('--overwrite', 'a', 'mine:/a')).toMatchObject({ code: 0 })
  await writeFile(join(cwd, 'b'), 'kept')
  expect(await cp('mine:/a', 'b')).toMatchObject({ code: 1, stderr: expect.stringContaining('--overwrite') })
  expect(await readFile(join(cwd, 'b'), 'utf8')).toBe('kept')
  expect((await readdir(cwd)).sort()).toEqual(['a', 'b'])
})

test('a missing file is reported by its name', async () => {
  expect(await cp('nothere', 'mine:/a')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^error: there is no \S*nothere\n$/),
  })
})

test('a directory needs -r, and is copied to exactly the destination', async () => {
  await mkdir(join(cwd, 'tree/sub'), { recursive: true })
  await writeFile(join(cwd, 'tree/sub/file'), 'x')
  expect(await cp('tree', 'mine:/t')).toMatchObject({ code: 1, stderr: expect.stringContaining('holt cp -r') })
  expect(await cp('-r', 'tree', 'mine:/t')).toMatchObject({ code: 0 })
  expect(await runtime.files.readText('/t/sub/file')).toBe('x')
  expect(await cp('-r', 'mine:/t', 'mine:/copy')).toMatchObject({ code: 0 })
  expect(service.count('copyFile')).toBe(1)
  expect(await cp('-r', 'mine:/copy', 'back')).toMatchObject({ code: 0 })
  expect(await readFile(join(cwd, 'back/sub/file'), 'utf8')).toBe('x')
})

test('copies from one runtime to another', async () => {
  const other = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'other' })
  await runtime.files.write('/tree/file', 'x')
  expect(await cp('mine:/tree/file', 'other:/file')).toMatchObject({ code: 0 })
  expect(await cp('-r', 'mine:/tree', 'other:/tree')).toMatchObject({ code: 0 })
  expect(await other.files.readText('/file')).toBe('x')
  expect(await other.files.readText('/tree/file')).toBe('x')
})

test('- is stdin or stdout', async () => {
  expect(await runHolt(['cp', '-', 'mine:/in'], { service, input: 'from stdin' })).toMatchObject({ code: 0 })
  expect(await cp('mine:/in', '-')).toMatchObject({ code: 0, stdout: 'from stdin' })
})

test('a file is copied into an existing local directory', async () => {
  await runtime.files.write('/work/out.txt', 'x')
  await cp('mine:/work/out.txt', '.')
  expect(await readdir(cwd)).toEqual(['out.txt'])
})

test.each([
  ['two paths here', ['a', 'b'], 'RUNTIME:/PATH'],
  ['a path that is not absolute', ['a', 'mine:b'], 'absolute'],
])('%s is wrong usage', async (_, args, told) => {
  expect(await cp(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(told) })
})

test('--json prints the answer of the API', async () => {
  await writeFile(join(cwd, 'a'), 'abc')
  expect(JSON.parse((await cp('--json', 'a', 'mine:/a')).stdout)).toMatchObject({ path: '/a', size_bytes: 3 })
})
