import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { sweepScratch } from '../../src/index.ts'
import { makeScratch } from '../../src/scratch/make-scratch.ts'
import { lacks, run } from '../support/machine.ts'

const missing = lacks('mount')
let workDir: string
beforeEach(async () => {
  workDir = await mkdtemp(join(tmpdir(), 'holt-sweep-'))
  onTestFinished(() => rm(workDir, { recursive: true, force: true }))
})

const sweep = () => sweepScratch({ workDir, usedTimeoutMs: 0 })

/** A scratch directory with something in it, whose owner's name is changed. */
async function scratchOf(change: Readonly<Record<string, unknown>>): Promise<string> {
  const { path } = await makeScratch(workDir, 'base')
  await mkdir(join(path, 'tree/home'), { recursive: true })
  await writeFile(join(path, 'tree/home/file'), 'x')
  const owner = JSON.parse(await readFile(join(path, 'owner.json'), 'utf8'))
  await writeFile(join(path, 'owner.json'), JSON.stringify({ ...owner, ...change }))
  return path
}

/** Makes a scratch directory as another process, which is then killed. */
async function scratchOfKilled(): Promise<string> {
  const module = new URL('../../src/scratch/make-scratch.ts', import.meta.url).href
  const script = `const { makeScratch } = await import(${JSON.stringify(module)})
    console.log((await makeScratch(process.argv[1], 'image')).path); setInterval(() => {}, 1000)`
  const argv = ['--input-type=module', '--disable-warning=ExperimentalWarning', '-e', script, workDir]
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [path] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  expect(await sweep()).toEqual({ removed: [], kept: [] })
  child.kill('SIGKILL')
  await once(child, 'exit')
  return path.trim()
}

test('removes leftovers of a killed process, and nothing while it lives', async () => {
  const path = await scratchOfKilled()
  expect(existsSync(path)).toBe(true)
  expect(await sweep()).toEqual({ removed: [path], kept: [] })
  expect(existsSync(path)).toBe(false)
})

test('a later process of the same pid is another one, and so is one of an earlier boot', async () => {
  const paths = [
    await scratchOf({ start_time: '1' }),
    await scratchOf({ boot_id: '00000000-0000-0000-0000-000000000000', pid_namespace: 'pid:[1]' }),
  ]
  expect((await sweep()).removed.toSorted()).toEqual(paths.toSorted())
})

test('keeps uncertain cases: another PID namespace, no owner, an unreadable owner, another name', async () => {
  const paths = [
    await scratchOf({ pid_namespace: 'pid:[1]', start_time: '1' }),
    await scratchOf({ pid: 'none' }),
    await scratchOf({ start_time: '1', more: true }),
    await mkdtemp(join(workDir, 'holt-base-')),
    await mkdtemp(join(workDir, 'other-')),
  ]
  expect(await sweep()).toEqual({ removed: [], kept: [] })
  expect(paths.filter((path) => !existsSync(path))).toEqual([])
})

test.skipIf(missing !== '')(`what another user could have written stays${missing}`, async () => {
  const [theirs, open] = [await scratchOf({ start_time: '1' }), await scratchOf({ start_time: '1' })]
  await chown(theirs, 65_534, 65_534)
  await chmod(open, 0o777)
  expect(await sweep()).toEqual({ removed: [], kept: [] })
})

test('keeps and reports a directory that a process still uses', async () => {
  const path = await scratchOf({ start_time: '1' })
  const child = spawn('sleep', ['60'], { cwd: join(path, 'tree') })
  await once(child, 'spawn')
  expect(await sweep()).toEqual({ removed: [], kept: [{ path, reason: `process ${child.pid} still works in it` }] })
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect((await sweep()).removed).toEqual([path])
})

test.skipIf(missing !== '')(`what something is mounted in stays, all of it${missing}`, async () => {
  const path = await scratchOf({ start_time: '1' })
  const place = join(path, 'tree/home')
  run(['mount', '-t', 'tmpfs', 'holt-test', place])
  try {
    expect((await sweep()).kept).toMatchObject([{ path, reason: expect.stringContaining('contains a mount') }])
    expect(existsSync(join(path, 'owner.json'))).toBe(true)
  } finally {
    run(['umount', place])
  }
  expect((await sweep()).removed).toEqual([path])
})

test('no directory is nothing to remove', async () => {
  expect(await sweepScratch({ workDir: join(workDir, 'none') })).toEqual({ removed: [], kept: [] })
})
