import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command, CommandResult, NewKey, pageOf, Runtime } from '@holt/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, runtimesPath, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { type CliResult, holt } from './support/cli.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

const jsonOf = ({ stdout }: CliResult): unknown => JSON.parse(stdout.toString())
const textOf = ({ stdout }: CliResult): string => stdout.toString()

const alive = async () =>
  success(await call('GET', runtimesPath, { query: { state: 'running', limit: 100 } }), 200, pageOf(Runtime)).data

describeClasses('holt run', (isolation) => {
  const run = (args: readonly string[], options = {}) => holt(['run', '--isolation', isolation, ...args], options)

  it('passes output and exit code through, and leaves no runtime', async () => {
    const before = (await alive()).length
    const good = await run(['--', 'sh', '-c', 'echo out; echo err >&2'])
    expect(good).toMatchObject({ code: 0 })
    expect(textOf(good)).toBe('out\n')
    expect(good.stderr).toContain('err\n')
    expect(await run(['--', 'sh', '-c', 'exit 7'])).toMatchObject({ code: 7 })
    expect(await run(['--', 'sh', '-c', 'kill -9 $$'])).toMatchObject({ code: 137 })
    expect((await alive()).length).toBe(before)
  })

  it('exits with 124 when the command times out', async () => {
    expect(await run(['--timeout', '1', '--', 'sleep', '60'])).toMatchObject({ code: 124 })
  })

  it('passes bytes both ways unchanged', async () => {
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 7) % 256))
    const result = await run(['--', 'cat'], { stdin: bytes })
    expect(result.stdout.equals(bytes)).toBe(true)
  })

  it('loses no output of a command that writes faster than it is read', async () => {
    const result = await run(['--', 'seq', '1', '2000000'])
    expect(result).toMatchObject({ code: 0, stderr: '' })
    expect(result.stdout.length).toBe(14_888_896)
    expect(result.stdout.subarray(-8).toString()).toBe('2000000\n')
  })

  it('ends together with its command when its output is closed', async () => {
    const before = (await alive()).length
    const result = await run(['--', 'yes'], { readBytes: 4 })
    expect(result).toMatchObject({ code: 141 })
    expect((await alive()).length).toBe(before)
  })

  it('reports that a command was killed for memory', async () => {
    const hog = 'x = bytearray(600 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1'
    const result = await run(['--memory', '256MiB', '--', 'python', '-c', hog])
    expect(result.stderr).toContain('ran out of its 256 MiB of memory')
    expect(result.code).toBe(137)
  })

  it('takes environment variables, and prints the result of the API', async () => {
    const result = await run(['-e', 'A=b c', '--json', '--', 'printenv', 'A'])
    expect(CommandResult.parse(jsonOf(result))).toMatchObject({ stdout: 'b c\n', exit_code: 0 })
  })
})

describe('holt exits with 125 if Holt itself fails', () => {
  it.each([
    ['for want of the template', ['run', '-t', 'nothing', '--', 'true'], {}, 'no template is named nothing'],
    ['for want of the runtime', ['exec', 'nothing', '--', 'true'], {}, 'nothing'],
    ['for a wrong key', ['run', '--', 'true'], { HOLT_API_KEY: 'wrong' }, 'HOLT_API_KEY'],
    ['for want of the service', ['run', '--', 'true'], { HOLT_URL: 'http://127.0.0.1:9' }, '127.0.0.1:9'],
  ] as const)('%s', async (_, args, env, named) => {
    const result = await holt(args, { env })
    expect(result.code, result.stderr).toBe(125)
    expect(result.stderr).toContain('error: ')
    expect(result.stderr.toLowerCase()).toContain(named === 'HOLT_API_KEY' ? 'key' : named)
    expect(textOf(result)).toBe('')
  })

  it('and with 2 for wrong usage', async () => {
    expect(await holt(['run', '--no-such-option', '--', 'true'])).toMatchObject({ code: 2 })
    expect(await holt(['no-such-verb'])).toMatchObject({ code: 2 })
  })
})

describe('holt, on a runtime,', () => {
  let runtime: TestRuntime
  let local: string
  beforeAll(async () => {
    runtime = await createRuntime({ name: 'of-the-cli' })
    local = await mkdtemp(join(tmpdir(), 'holt-e2e-'))
  })
  afterAll(async () => {
    await rm(local, { recursive: true, force: true })
  })

  it('lists it as a table, and as JSON for programs', async () => {
    const table = await holt(['ls'])
    expect(table.code).toBe(0)
    expect(textOf(table)).toContain('of-the-cli')
    expect(textOf(table)).not.toContain('\x1b[')
    const listed = jsonOf(await holt(['ls', '--json']))
    expect(JSON.stringify(listed)).toContain(runtime.id)
    expect(Runtime.parse(jsonOf(await holt(['get', 'of-the-cli', '--json']))).runtime_id).toBe(runtime.id)
  })

  it.each(['id', 'beginning of the id', 'name'])('execs by %s', async (by) => {
    const word = by === 'name' ? 'of-the-cli' : by === 'id' ? runtime.id : runtime.id.slice(0, 10)
    const result = await holt(['exec', word, '--', 'sh', '-c', 'echo $0 "$@"; exit 3', 'a', 'b c', '*'])
    expect([result.code, textOf(result)]).toEqual([3, 'a b c *\n'])
  })

  it('starts in the background, follows the log and reports the exit code', async () => {
    const started = textOf(
      await holt(['exec', '-d', 'of-the-cli', '--', 'sh', '-c', 'for n in 1 2 3; do echo $n; sleep 0.1; done']),
    ).trim()
    const log = await holt(['logs', '-f', 'of-the-cli', started])
    expect(textOf(log)).toBe('1\n2\n3\n')
    expect(textOf(await holt(['logs', 'of-the-cli', started]))).toBe('1\n2\n3\n')
    const ps = pageOf(Command).shape.data.parse(asList(jsonOf(await holt(['ps', 'of-the-cli', '--json']))))
    expect(ps.map(({ command_id }) => command_id)).toContain(started)
  })

  it('copies trees to, within and from it, unchanged', async () => {
    const tree = join(local, 'tree')
    await mkdir(join(tree, 'sub', 'empty'), { recursive: true })
    await writeFile(join(tree, 'run.sh'), '#!/bin/sh\necho ran\n')
    await chmod(join(tree, 'run.sh'), 0o755)
    await writeFile(join(tree, 'sub', 'ünï \'quoted"'), Buffer.from([0, 255, 10]))
    await symlink('../run.sh', join(tree, 'sub', 'link'))

    expect(await holt(['cp', '-r', tree, 'of-the-cli:/workspace/tree'])).toMatchObject({ code: 0 })
    expect((await runtime.run('/workspace/tree/run.sh; stat -c %U /workspace/tree/run.sh')).stdout).toBe('ran\nuser\n')
    expect(await holt(['cp', '-r', 'of-the-cli:/workspace/tree', 'of-the-cli:/workspace/copy'])).toMatchObject({
      code: 0,
    })
    expect(await holt(['cp', '-r', 'of-the-cli:/workspace/copy', join(local, 'back')])).toMatchObject({ code: 0 })
    expect(await describeLocal(join(local, 'back'))).toEqual(await describeLocal(tree))

    const again = await holt(['cp', '-r', tree, 'of-the-cli:/workspace/tree'])
    expect(again.code).toBe(1)
    expect(again.stderr).toContain('error: ')
    expect(await holt(['cp', '-r', '--overwrite', tree, 'of-the-cli:/workspace/tree'])).toMatchObject({ code: 0 })
    expect(textOf(await holt(['cp', 'of-the-cli:/workspace/tree/run.sh', '-']))).toBe('#!/bin/sh\necho ran\n')
  })

  it('creates and removes', async () => {
    const made = Runtime.parse(jsonOf(await holt(['create', '-n', 'short-lived', '--json'])))
    expect(made.name).toBe('short-lived')
    expect(await holt(['rm', 'short-lived'])).toMatchObject({ code: 0 })
    expect(success(await call('GET', `${runtimesPath}/${made.runtime_id}`), 200, Runtime).state).toBe('terminated')
  })

  it('creates and revokes keys', async () => {
    const made = NewKey.parse(jsonOf(await holt(['key', 'create', 'of-the-cli', '--json'])))
    const env = { HOLT_API_KEY: made.key }
    expect(await holt(['ls'], { env })).toMatchObject({ code: 0 })
    expect(textOf(await holt(['key', 'ls']))).not.toContain(made.key)
    expect(await holt(['key', 'rm', made.key_id])).toMatchObject({ code: 0 })
    await until('it opens nothing', async () => (await holt(['ls'], { env })).code === 1)
  })
})

function asList(value: unknown): unknown {
  return Array.isArray(value) ? value : (value as { data?: unknown }).data
}

/** Every entry of a local tree: type, permission bits and content. */
async function describeLocal(root: string): Promise<unknown[]> {
  const names = (await readdir(root, { recursive: true })).sort()
  return Promise.all(
    names.map(async (name) => {
      const path = join(root, name)
      const info = await lstat(path)
      if (info.isSymbolicLink()) return [name, 'symlink', await readlink(path)]
      return [name, info.mode & 0o777, info.isFile() ? (await readFile(path)).toString('hex') : 'directory']
    }),
  )
}
