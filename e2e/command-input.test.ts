import { createHash } from 'node:crypto'
import { Command, StdinWritten } from '@holt/protocol'
import { beforeAll, describe, expect, it } from 'vitest'
import { failure, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { holt } from './support/cli.ts'
import { FlakyProxy } from './support/flaky-proxy.ts'
import { bytesOf, collect } from './support/output.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

describeClasses('what a command is given', (isolation) => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({ isolation })
  })

  describe('through stdin', () => {
    const begin = async (command: string) => {
      const json = { command, background: true, stdin: true }
      const { command_id } = success(await runtime.call('POST', '/commands', { json }), 201, Command)
      return `/commands/${command_id}`
    }
    const write = (path: string, json: object) => runtime.call('POST', `${path}/stdin`, { json })

    it('is applied once, however often it is sent, and ends once', async () => {
      const path = await begin('cat')
      for (const [json, written_bytes, offset] of [
        [{}, 0, 0],
        [{ data: 'abc', offset: 0 }, 3, 3],
        [{ data: 'abc', offset: 0 }, 0, 3],
        [{ data: 'bcdef', offset: 1 }, 3, 6],
        [{ data: 'g' }, 1, 7],
        [{ data: 'h', offset: 7, eof: true }, 1, 8],
        [{ data: 'h', offset: 7, eof: true }, 0, 8],
        [{ offset: 8, eof: true }, 0, 8],
      ] as const)
        expect(success(await write(path, json), 200, StdinWritten)).toEqual({ written_bytes, offset })
      const items = await collect(runtime, 'GET', `${path}/output`, { query: { follow: true } })
      expect(bytesOf(items, 'stdout').toString()).toBe('abcdefgh')
      expect(failure(await write(path, { data: 'hi', offset: 7 }), 'conflict').details).toEqual({
        reason: 'stdin_closed',
        offset: 8,
      })
    })

    it('is refused beyond the accepted offset, and the error names it', async () => {
      const path = await begin('cat')
      await write(path, { data: 'abc' })
      const { details } = failure(await write(path, { data: 'x', offset: 4 }), 'conflict')
      expect(details).toEqual({ reason: 'stdin_gap', offset: 3 })
      failure(await write(path, { data: 'x', offset: -1 }), 'invalid_request')
      await runtime.call('DELETE', path)
    })

    it('is accepted in part if the command does not read', async () => {
      const path = await begin('sleep 4815')
      const data = 'x'.repeat(900_000)
      const first = success(await write(path, { data, offset: 0 }), 200, StdinWritten)
      const rest = { data, offset: first.offset, eof: true }
      const { written_bytes, offset } = success(await write(path, rest), 200, StdinWritten)
      expect(written_bytes).toBeLessThan(data.length)
      expect(offset).toBe(first.offset + written_bytes)
      expect(success(await write(path, {}), 200, StdinWritten)).toEqual({ written_bytes: 0, offset })
      await runtime.call('DELETE', path)
    })

    it('arrives unchanged over broken connections', async () => {
      await using proxy = new FlakyProxy(/\/stdin$/)
      const HOLT_URL = await proxy.listen()
      const bytes = Buffer.alloc(12_000_000)
      for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE((at * 2654435761) >>> 0, at)
      const result = await holt(['exec', runtime.id, '--', 'sha256sum'], { stdin: bytes, env: { HOLT_URL } })
      expect(result).toMatchObject({ code: 0, stderr: '' })
      expect(result.stdout.toString()).toBe(`${createHash('sha256').update(bytes).digest('hex')}  -\n`)
      expect(proxy.fates.lost).toBeGreaterThan(2)
      expect(proxy.fates.cut).toBeGreaterThan(1)
    })
  })

  describe('through limits', () => {
    it.each([undefined, 'root'])('applies them (user %s)', async (user) => {
      const rlimits = {
        nofile: { soft: 40, hard: 50 },
        fsize: 4096,
        core: 0,
        stack: 1 << 20,
        cpu: 'unlimited',
      } as const
      const as = user === undefined ? {} : { user }
      const { stdout } = await runtime.run(
        'ulimit -Sn; ulimit -Hn; ulimit -f; ulimit -s; ulimit -t; head -c 9000 /dev/zero > /tmp/cut; stat -c %s /tmp/cut; rm /tmp/cut',
        { rlimits, ...as },
      )
      expect(stdout).toBe('40\n50\n8\n1024\nunlimited\n4096\n')
    })

    it('counts processor time, memory and processes', async () => {
      expect(await runtime.run('while :; do :; done', { rlimits: { cpu: { soft: 1, hard: 2 } } })).toMatchObject({
        signal: 'SIGXCPU',
      })
      const hog = 'try: bytearray(300 << 20)\nexcept MemoryError: print("refused")'
      expect((await runtime.run(['python', '-c', hog], { rlimits: { as: 200 << 20 } })).stdout).toBe('refused\n')
      const forks =
        'import os, time\ntry:\n  for _ in range(60): os.fork() or (time.sleep(5), os._exit(0))\nexcept OSError: print("refused")'
      const forking = await runtime.run(['python', '-c', forks], { rlimits: { nproc: 30 }, timeout_secs: 20 })
      expect(forking.stdout).toBe('refused\n')
      await runtime.call('DELETE', `/commands/${forking.command_id}`)
    })

    it('leaves the other limits as they are', async () => {
      const all = (await runtime.run('ulimit -a')).stdout
      expect((await runtime.run('ulimit -a', { rlimits: { core: 0 } })).stdout).toBe(all)
    })

    it.each([
      ['an unknown name', { files: 5 }, 'invalid_request'],
      ['a soft limit above the hard one', { nofile: { soft: 6, hard: 5 } }, 'invalid_request'],
      ['more than the runtime itself has', { nofile: 2 ** 40 }, 'invalid_request'],
      ['a negative number', { cpu: -1 }, 'invalid_request'],
      ['a fraction', { cpu: 1.5 }, 'invalid_request'],
    ] as const)('refuses %s', async (_, rlimits, code) => {
      failure(await runtime.call('POST', '/commands', { json: { command: 'true', rlimits } }), code)
    })

    it('refuses a limit above that of the class', async () => {
      const answer = await runtime.call('POST', '/commands', { json: { command: 'true', rlimits: { data: 1 << 30 } } })
      if (isolation === 'gvisor') expect(failure(answer, 'unsupported_setting').message).toContain('`as`')
      else expect(answer.status, answer.text).toBe(200)
    })

    it('accepts them from the CLI', async () => {
      const exec = (...ulimits: string[]) =>
        holt([
          'exec',
          ...ulimits.flatMap((one) => ['--ulimit', one]),
          runtime.id,
          '--',
          'sh',
          '-c',
          'ulimit -Sn; ulimit -Hn; ulimit -t',
        ])
      expect((await exec('nofile=40:50', 'cpu=9')).stdout.toString()).toBe('40\n50\n9\n')
      expect(await exec('files=1')).toMatchObject({ code: 2 })
    })
  })

  describe('through the program', () => {
    it.each([
      ['no-such-program', 'program_not_found', 127],
      ['/etc/passwd', 'program_not_executable', 126],
      ['/etc', 'program_not_executable', 126],
    ])('%s is refused as %s, exit code %i', async (program, reason, code) => {
      const answer = await runtime.call('POST', '/commands', { json: { argv: [program] } })
      expect(failure(answer, 'invalid_request').details?.reason).toBe(reason)
      const result = await holt(['exec', runtime.id, '--', program])
      expect(result.code, result.stderr).toBe(code)
      expect(result.stderr).toContain(program)
    })

    it('that a shell does not find is exit code 127 of the shell', async () => {
      expect((await runtime.run('no-such-program')).exit_code).toBe(127)
    })
  })

  describe('through signals', () => {
    it.each(['SIGRTMIN+3', 'SIGALRM', 'SIGABRT'] as const)('%s arrives', async (signal) => {
      const trap = signal.replace('SIG', '')
      const json = {
        argv: ['bash', '-c', `trap 'exit 7' ${trap}; echo ready; while :; do sleep 0.02; done`],
        background: true,
      }
      const { command_id } = success(await runtime.call('POST', '/commands', { json }), 201, Command)
      await until('it is ready', async () =>
        (await runtime.call('GET', `/commands/${command_id}/output`)).text.includes('ready'),
      )
      success(await runtime.call('POST', `/commands/${command_id}/signal`, { json: { signal } }), 200, Command)
      const items = await collect(runtime, 'GET', `/commands/${command_id}/output`, { query: { follow: true } })
      expect(items.at(-2)).toMatchObject({ type: 'exit', exit_code: 7 })
    })

    it('holt kill ends a command that ignores other signals', async () => {
      const json = { command: 'trap "" TERM HUP INT; (setsid sleep 4816 &); sleep 4816; sleep 4816', background: true }
      const { command_id } = success(await runtime.call('POST', '/commands', { json }), 201, Command)
      expect(await holt(['kill', '-s', 'term', runtime.id, command_id])).toMatchObject({ code: 0 })
      expect(await holt(['kill', '-s', 'nope', runtime.id, command_id])).toMatchObject({ code: 2 })
      const killed = await holt(['kill', '--json', runtime.id, command_id.slice(0, 12)])
      expect(Command.parse(JSON.parse(killed.stdout.toString()))).toMatchObject({ command_id, state: 'exited' })
      expect((await runtime.run(['pgrep', '-f', '[s]leep 4816'], { user: 'root' })).exit_code).toBe(1)
      expect(await holt(['kill', '-s', 'TERM', runtime.id, command_id])).toMatchObject({ code: 1 })
    })
  })

  it('a result has the requested number of bytes of each stream', async () => {
    const command = "head -c 1500000 /dev/zero | tr '\\0' x; printf 'äöü' >&2"
    const short = await runtime.run(command, { max_output_bytes: 5 })
    expect(short).toMatchObject({ stdout: 'xxxxx', stderr: 'äö', truncated: { stdout: true, stderr: true } })
    expect(short).toMatchObject({ stdout_bytes: 1_500_000, stderr_bytes: 6, dropped: { stdout: 0, stderr: 0 } })
    const long = await runtime.run(command, { max_output_bytes: 2_000_000 })
    expect(long).toMatchObject({ truncated: { stdout: false, stderr: false }, stderr: 'äöü' })
    expect(long.stdout.length).toBe(1_500_000)
    failure(
      await runtime.call('POST', '/commands', { json: { command, max_output_bytes: 2 ** 30 } }),
      'invalid_request',
    )
  })

  it('reports the lost bytes of each stream', async () => {
    const json = { command: 'head -c 3000000 /dev/zero; printf err >&2; head -c 1000 /dev/zero', background: true }
    const { command_id } = success(await runtime.call('POST', '/commands', { json }), 201, Command)
    const items = await collect(runtime, 'GET', `/commands/${command_id}/output`, { query: { follow: true } })
    expect(items.at(-1)?.type).toBe('end')
    const ended = success(await runtime.call('GET', `/commands/${command_id}`), 200, Command)
    expect(ended.dropped.stdout).toBe(ended.dropped_bytes)
    expect(ended).toMatchObject({ stdout_bytes: 3_001_000, stderr_bytes: 3, dropped: { stderr: 0 } })
    expect(ended.dropped.stdout).toBe(3_001_003 - 1024 * 1024)
  })
})
