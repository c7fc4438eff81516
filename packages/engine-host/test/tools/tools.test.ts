import { createHash } from 'node:crypto'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { digestFile } from '../../src/files/digest-file.ts'
import { identifyProcess, isAlive, parseStat } from '../../src/tools/process-table.ts'
import { mustRun, runTool, shareLauncher } from '../../src/tools/run-tool.ts'
import { buildGuest, missing, temporaryDirectory } from '../support/test-machine.ts'

const lacking = await missing('go')

const ways = [
  { way: 'by itself', launched: false },
  ...(lacking === null ? [{ way: 'by way of the launcher', launched: true }] : []),
]

describe.each(ways)('a tool that is started $way', ({ launched }) => {
  let end = async () => {}
  beforeAll(async () => {
    if (!launched) return
    const dir = await temporaryDirectory()
    const release = shareLauncher(await buildGuest(dir.path))
    end = async () => {
      release()
      await dir[Symbol.asyncDispose]()
    }
  })
  afterAll(() => end())

  test('runs a tool with unchanged arguments and its own environment', async () => {
    const odd = 'a b; $(touch /x) \'"'
    expect((await runTool(['printf', '%s', odd], { timeoutMs: 10_000 })).stdout).toBe(odd)
    const { stdout } = await runTool(['env'], { timeoutMs: 10_000 })
    expect(stdout.split('\n').map((line) => line.split('=')[0])).toEqual(['PATH', 'LC_ALL', ''])
    expect((await runTool(['pwd'], { timeoutMs: 10_000 })).stdout).toBe('/\n')
  })

  test('runs a tool in its own session, without descriptors of the daemon', async () => {
    const own = await runTool(['ps', '-o', 'sid=', '-p', `${process.pid}`], { timeoutMs: 10_000 })
    const { stdout } = await runTool(['sh', '-c', 'ps -o sid= -p $$; echo $$'], { timeoutMs: 10_000 })
    const [session, pid] = stdout.trim().split(/\s+/)
    expect(session).toBe(pid)
    expect(session).not.toBe(own.stdout.trim())
  })

  test('reports the failure of a tool with its output', async () => {
    await expect(mustRun(['ls', '--', '/no/such/file'], { timeoutMs: 10_000 })).rejects.toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('/no/such/file'),
    })
    await expect(runTool(['/no/such/program'], { timeoutMs: 10_000 })).rejects.toMatchObject({ kind: 'failed' })
  })

  test('kills a tool that times out or is cancelled', async () => {
    await expect(runTool(['sleep', '1000'], { timeoutMs: 20 })).rejects.toMatchObject({ kind: 'failed' })
    const stop = new AbortController()
    const running = runTool(['sleep', '1000'], { timeoutMs: 60_000, signal: stop.signal })
    stop.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
  })

  test('cuts endless output of a tool', async () => {
    const { stdout } = await runTool(['head', '-c', '3000000', '/dev/zero'], { timeoutMs: 10_000 })
    expect(stdout).toHaveLength(2 ** 20)
  })

  test('runs several tools, each with its own end', async () => {
    const codes = Array.from({ length: 20 }, (_, code) => code)
    const results = await Promise.all(codes.map((code) => runTool(['sh', '-c', `exit ${code}`], { timeoutMs: 10_000 })))
    expect(results.map(({ code }) => code)).toEqual(codes)
  })

  test('reports the signal that killed it', async () => {
    const result = await runTool(['sh', '-c', 'kill -TERM $$'], { timeoutMs: 10_000 })
    expect(result).toMatchObject({ code: null, killedBy: 'SIGTERM' })
  })
})

test.skipIf(lacking !== null)(
  'tools start directly when the launcher is gone, and its running tools are reported',
  async () => {
    await using dir = await temporaryDirectory()
    const release = shareLauncher(await buildGuest(dir.path))
    const running = runTool(['sh', '-c', 'kill -KILL $PPID; sleep 0.2'], { timeoutMs: 10_000 })
    await expect(running).rejects.toMatchObject({ kind: 'failed' })
    expect((await runTool(['echo', 'here'], { timeoutMs: 10_000 })).stdout).toBe('here\n')
    release()
  },
)

test.skipIf(lacking !== null)('neither tools nor the launcher leave a core file', async () => {
  const none = /^Max core file size +0 +0 +bytes/m
  await using dir = await temporaryDirectory()
  const release = shareLauncher(await buildGuest(dir.path))
  const limitsOfTool = async () => (await runTool(['cat', '/proc/self/limits'], { timeoutMs: 10_000 })).stdout
  expect(await limitsOfTool()).toMatch(none)
  expect(await readFile('/proc/self/limits', 'utf8')).toMatch(none)
  release()
  expect(await limitsOfTool()).toMatch(none)
})

test('distinguishes a process from a later one with the same pid', async () => {
  const self = await identifyProcess(process.pid)
  expect(self).not.toBeNull()
  if (self === null) return
  expect(await isAlive(self)).toBe(true)
  expect(await isAlive({ ...self, startTicks: self.startTicks + 1 })).toBe(false)
})

test('reads a start time after a name with brackets and spaces, and none of a zombie', () => {
  const rest = `${'0 '.repeat(18)}4711 0 0`
  expect(parseStat(`12 (a) b (c) S ${rest}`)).toBe(4711)
  expect(parseStat(`12 (a) Z ${rest}`)).toBeNull()
  fc.assert(fc.property(fc.string(), (text) => void parseStat(text)))
})

test.each([0, 1, 2 ** 20, 2 ** 20 + 1, 5 * 2 ** 20 - 1])(
  'digests a file of %s bytes by chunks of 1 MiB',
  async (size) => {
    await using dir = await temporaryDirectory()
    const path = join(dir.path, 'file')
    const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest()
    const data = Buffer.alloc(size, 'what is in it')
    await writeFile(path, data)
    const parts = Array.from({ length: Math.ceil(size / 2 ** 20) }, (_, index) =>
      sha256(data.subarray(index * 2 ** 20, (index + 1) * 2 ** 20)),
    )
    expect(await digestFile(path)).toBe(sha256(Buffer.concat(parts)).toString('hex'))
    await symlink('file', join(dir.path, 'link'))
    await expect(digestFile(join(dir.path, 'link'))).rejects.toThrow('ELOOP')
  },
)
