import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { startTestService, type TestService } from '../../sdk/test/support/test-service.ts'
import { denial } from './support/denial.ts'
import { type OpenClient, openClient, revisions, textOf } from './support/open-client.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

describe.each(revisions)('revision %s', (revision) => {
  let opened: OpenClient
  beforeEach(async () => {
    opened = await openClient(service, { revision })
    await opened.holt.runtimes.create({ name: 'mine' })
  })
  const run = (command: string, more: object = {}) => opened.text('run_command', { runtime: 'mine', command, ...more })

  test('returns the exit code and both streams', async () => {
    const text = await run('echo out; echo err >&2; exit 3')
    expect(text).toMatch(/^Exit code 3 after .* s\. command_id: cm/)
    expect(text).toContain('--- stdout ---\nout\n')
    expect(text).toContain('--- stderr ---\nerr\n')
    expect(await run('true')).toMatch(/^Exit code 0 .*It wrote nothing\./)
    expect(await run('cat', { stdin: 'typed' })).toContain('typed')
    expect(await run('echo $GREETING', { env: { GREETING: 'hello' } })).toContain('hello')
  })

  test('returns the beginning and the end of long output, and how to read the rest', async () => {
    const text = await run('seq 100000')
    expect(text).toContain('\n1\n2\n')
    expect(text.trimEnd()).toMatch(/\n99999\n100000$/)
    expect(text).toMatch(
      /\[… [\d,]+ bytes left out\. read_output with command_id cm\S+ and cursor \S+ returns them …\]/,
    )
    expect(text.length).toBeLessThan(14_000)
  })

  test('reports progress with the last line, in growing steps', async () => {
    const told: { progress: number; message?: string | undefined }[] = []
    const directory = await mkdtemp(join(tmpdir(), 'holt-mcp-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    const seen = join(directory, 'seen')
    const repeat = (line: number) => `while [ ! -e ${seen}${line} ]; do echo line ${line}; sleep 0.05; done`
    await opened.text(
      'run_command',
      { runtime: 'mine', command: `${repeat(1)}; echo line 2; ${repeat(3)}` },
      {
        onprogress: (one) => {
          told.push(one)
          // The command repeats a line until it was reported.
          const line = /^line ([13])$/.exec(one.message ?? '')
          if (line !== null) writeFileSync(`${seen}${line[1]}`, '')
        },
      },
    )
    expect(told.map(({ message }) => message)).toEqual(expect.arrayContaining(['line 1', 'line 3']))
    expect(told.map(({ progress }) => progress)).toEqual(told.map(({ progress }) => progress).toSorted((a, b) => a - b))
  })

  test('reports the last line and then the end, however fast the command is', async () => {
    const told: (string | undefined)[] = []
    const directory = await mkdtemp(join(tmpdir(), 'holt-mcp-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    const seen = join(directory, 'seen')
    // The last lines follow the first report at once.
    const command = `echo one; while [ ! -e ${seen} ]; do sleep 0.01; done; echo two; echo three`
    const onprogress = ({ message }: { message?: string | undefined }) => {
      told.push(message)
      writeFileSync(seen, '')
    }
    await opened.text('run_command', { runtime: 'mine', command }, { onprogress })
    expect(told.at(0)).toBe('one')
    expect(told.slice(-2)).toEqual(['three', expect.stringMatching(/^Exit code 0/)])
  })

  test('reports a line that follows a report soon, while the command is silent', async () => {
    const told: (string | undefined)[] = []
    const seen = Promise.withResolvers<void>()
    const stop = new AbortController()
    const call = opened.call(
      'run_command',
      { runtime: 'mine', command: 'echo one; sleep 0.1; echo two; sleep 60' },
      {
        signal: stop.signal,
        onprogress: ({ message }) => {
          told.push(message)
          if (message === 'two') seen.resolve()
        },
      },
    )
    call.catch(() => undefined)
    await seen.promise
    stop.abort()
    await expect(call).rejects.toThrow()
    expect(told).toEqual(['one', 'two'])
  })

  test('a cancelled call kills its command', async () => {
    const stop = new AbortController()
    const call = opened.call(
      'run_command',
      { runtime: 'mine', command: 'echo begun; sleep 60' },
      { signal: stop.signal },
    )
    call.catch(() => undefined)
    await expect.poll(() => [...service.processes.values()].map((one) => one.text('stdout'))).toEqual(['begun\n'])
    stop.abort()
    await expect(call).rejects.toThrow()
    await expect.poll(() => [...service.processes.values()].map((one) => one.command.signal)).toEqual(['SIGKILL'])
  })

  test('a command that runs into its time limit is a result', async () => {
    expect(await run('sleep 60', { timeout_secs: 1 })).toContain('killed at its time limit')
  })

  test('a command in the background is read and stopped', async () => {
    const started = JSON.parse(await run('echo up; sleep 60', { background: true }))
    const { command_id } = started
    const read = await opened.text('read_output', { runtime: 'mine', command_id, wait_secs: 1 })
    expect(read).toContain('up\n')
    expect(read).toContain('The command runs')
    expect(await opened.text('stop_command', { runtime: 'mine', command_id })).toContain('SIGKILL')
    const output = await opened.client.readResource({ uri: `holt://runtimes/mine/commands/${command_id}/output` })
    expect(output.contents).toMatchObject([{ text: 'up\n' }])
  })
})

test('a failed command names the connections that the policy denied', async () => {
  const { holt, text } = await openClient(service)
  await holt.runtimes.create({ name: 'mine', network_policy: { include: ['npm'] } })
  service.decisions.push(denial('api.example.com', 443), { type: 'end', cursor: 2 })
  const failed = await text('run_command', { runtime: 'mine', command: 'exit 7' })
  expect(failed).toContain('The network policy denied api.example.com:443.')
  expect(await text('run_command', { runtime: 'mine', command: 'true' })).not.toContain('denied')
})

test('a wrong command is an error with its code', async () => {
  const { holt, call } = await openClient(service)
  await holt.runtimes.create({ name: 'mine' })
  const result = await call('read_output', { runtime: 'mine', command_id: 'cm00000000000000000000' })
  expect(textOf(result)).toContain('code: command_not_found')
})
