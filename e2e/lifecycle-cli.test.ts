import { Fork, Runtime, Snapshot } from '@holt/protocol'
import { oneIn } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CliOptions, type CliResult, holt, holtProcess } from './support/cli.ts'
import { service } from './support/facts.ts'
import { until } from './support/until.ts'

/** A checkpoint is written or a runtime booted, on a machine that may be busy. */
const timeoutMs = 180_000
const name = `cli-${Date.now().toString(36)}`
const textOf = ({ stdout }: CliResult) => stdout.toString().trim()
const reason = service.unavailable.gvisor

/** Runs the command and answers what it printed. */
async function done(args: readonly string[], options: CliOptions = {}): Promise<string> {
  const ended = await holt(args, { timeoutMs: 120_000, ...options })
  expect(ended.code, `holt ${args.join(' ')}: ${ended.stderr}`).toBe(0)
  return textOf(ended)
}

const stateOf = async (text: string) => Runtime.parse(JSON.parse(await done(['get', text, '--json']))).state

/** A short run has one of the two tests that wait for output over a pause. */
const sometimes = oneIn(2, 'pauses at the command line', it)

describe.skipIf(reason !== null && !process.env.CI)(`at the command line [gvisor] ${reason ?? ''}`, () => {
  beforeAll(() => done(['create', '-n', name, '-m', `of=${name}`]), timeoutMs)
  afterAll(async () => {
    const left = await holt(['ls', '-q', '-m', `of=${name}`])
    await holt(['rm', ...textOf(left).split('\n')])
    await holt(['snapshot', 'rm', `${name}-memory`, `${name}-files`])
  }, timeoutMs)

  sometimes(
    'a paused runtime continues where it stopped, with its background commands',
    async () => {
      const count = await done([
        'exec',
        '-d',
        name,
        '--',
        'sh',
        '-c',
        'for i in $(seq 1 40); do echo $i; sleep 0.1; done',
      ])
      await done(['pause', name])
      expect(await stateOf(name)).toBe('paused')
      expect(await done(['ls', '--state', 'paused'])).toContain('resumes when used')
      await done(['exec', name, '--', 'true'])
      expect(await stateOf(name)).toBe('running')
      const counted = Array.from({ length: 40 }, (_, index) => String(index + 1))
      expect((await done(['logs', '-f', name, count])).split('\n')).toEqual(counted)
    },
    timeoutMs,
  )

  sometimes(
    'a waiting client gets the whole output of a command over a pause',
    async () => {
      const waiting = holtProcess(
        ['exec', name, '--', 'sh', '-c', 'for i in $(seq 1 60); do echo $i; sleep 0.1; done'],
        {
          timeoutMs: 120_000,
        },
      )
      let output = ''
      waiting.stdout.setEncoding('utf8').on('data', (part: string) => {
        output += part
      })
      const code = new Promise<number | null>((resolve) => waiting.once('close', resolve))
      waiting.stdin.end()
      await until('the command writes', async () => output.includes('5\n'))
      await done(['pause', name])
      await done(['resume', name])
      expect(await code).toBe(0)
      expect(output.trim().split('\n')).toEqual(Array.from({ length: 60 }, (_, index) => String(index + 1)))
    },
    timeoutMs,
  )

  it('a runtime without auto_resume says how to resume it', { timeout: timeoutMs }, async () => {
    await done(['set', name, '--no-auto-resume'])
    await done(['pause', name])
    const refused = await holt(['exec', name, '--', 'true'])
    expect(refused.code).toBe(125)
    expect(refused.stderr).toContain('hint: Resume the runtime: holt resume rt')
    await done(['set', name, '--auto-resume', '--timeout', '2h'])
    const resumed = await holt(['resume', name], { timeoutMs: 60_000 })
    expect(resumed.stderr).toMatch(/^Running .*, pauses in 2h\n$/)
  })

  it('children continue where their runtime stands, each with its own identity', { timeout: timeoutMs }, async () => {
    await done(['exec', name, '--', 'sh', '-c', 'echo before > /workspace/file'])
    const fork = Fork.parse(JSON.parse(await done(['fork', name, '--count', '2', '--json'])))
    const children = fork.data.flatMap(({ runtime }) => runtime?.runtime_id ?? [])
    expect(children).toHaveLength(2)
    const names = new Set<string>()
    for (const child of [name, ...children]) {
      expect(await done(['exec', child, '--', 'cat', '/workspace/file'])).toBe('before')
      names.add(await done(['exec', child, '--', 'hostname']))
    }
    expect(names.size).toBe(3)
    await done(['rm', ...children])
  })

  it('a runtime begins with a memory or a filesystem snapshot', { timeout: timeoutMs }, async () => {
    await done(['exec', '-d', name, '--', 'sh', '-c', 'exec sleep 86399'])
    await done(['exec', name, '--', 'sh', '-c', 'echo kept > /workspace/file'])
    const memory = await done(['snapshot', 'create', name, '-n', `${name}-memory`])
    const files = await done(['snapshot', 'create', name, '-n', `${name}-files`, '--kind', 'filesystem', '--json'])
    expect(Snapshot.parse(JSON.parse(files))).toMatchObject({ kind: 'filesystem', state: 'ready' })
    expect((await done(['snapshot', 'ls', '--of', name, '-q'])).split('\n')).toContain(memory)
    const running = "ps -eo args | grep -c '^sleep 86399'"
    for (const [snapshot, processes] of [
      [`${name}-memory`, '1'],
      [`${name}-files`, '0'],
    ] as const) {
      const made = await done(['create', '--snapshot', snapshot, '-m', `of=${name}`])
      expect(await done(['exec', made, '--', 'cat', '/workspace/file'])).toBe('kept')
      expect(await done(['exec', made, '--', 'sh', '-c', `${running} || true`])).toBe(processes)
      await done(['rm', made])
    }
    const larger = await holt(['create', '--snapshot', memory, '--memory', '2'])
    expect(larger).toMatchObject({ code: 1, stderr: expect.stringContaining('--memory: must be 1024 MiB') })
  })

  it('a template can be built on a snapshot', { timeout: 2 * timeoutMs }, async () => {
    const built = ['template', 'build', '-t', name, '--from-snapshot', `${name}-files`, '--run', 'cat /workspace/file']
    await done(built, { timeoutMs })
    expect(await done(['run', '-t', name, '--', 'cat', '/workspace/file'])).toBe('kept')
    await done(['template', 'rm', name])
  })
})
