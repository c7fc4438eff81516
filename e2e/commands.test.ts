import { Command, type OutputItem, pageOf, StdinWritten } from '@holt/protocol'
import { beforeAll, describe, expect, it } from 'vitest'
import { anyFailure, failure, pointersOf, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { daemonMemory, forgetPeakMemory, processesOf } from './support/host.ts'
import { bytesOf, collect, follow } from './support/output.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

const absentCommand = `cm${'a'.repeat(20)}`

describeClasses('commands', (isolation) => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({ isolation })
  })

  const start = async (body: object) =>
    success(await runtime.call('POST', '/commands', { json: { background: true, ...body } }), 201, Command)
  const get = async ({ command_id }: { command_id: string }) =>
    success(await runtime.call('GET', `/commands/${command_id}`), 200, Command)
  const ended = (command: { command_id: string }) =>
    until('it has ended', async () => {
      const now = await get(command)
      return now.state === 'exited' ? now : null
    })
  const running = async (marker: string) =>
    (await runtime.run(['pgrep', '-c', '-f', marker], { user: 'root' })).stdout.trim()

  describe('a waited-for command', () => {
    it('answers its output by stream, and its exit code', async () => {
      expect(await runtime.run('echo out; echo err >&2; exit 7')).toMatchObject({
        state: 'exited',
        stdout: 'out\n',
        stderr: 'err\n',
        exit_code: 7,
        signal: null,
        timed_out: false,
        truncated: { stdout: false, stderr: false },
      })
    })

    it('names the signal that ended it', async () => {
      expect(await runtime.run('kill -KILL $$')).toMatchObject({ exit_code: 137, signal: 'SIGKILL', timed_out: false })
    })

    it('that times out is a result, and leaves no process', async () => {
      // The time has to be enough for a shell to begin on this machine.
      const { duration_ms } = await runtime.run('echo begun; (setsid true &); true')
      const timeout_secs = 1 + Math.ceil((10 * (duration_ms ?? 0)) / 1000)
      const result = await runtime.run('echo begun; (setsid sleep 4711 &); sleep 4711', { timeout_secs })
      expect(result).toMatchObject({ timed_out: true, stdout: 'begun\n' })
      expect(await running('[s]leep 4711')).toBe('0')
    })

    it('ends when its process ends, not when a child closes the pipe', async () => {
      const result = await runtime.run('echo done; sleep 4712 &')
      expect(result).toMatchObject({ stdout: 'done\n', exit_code: 0 })
      expect(result.duration_ms).toBeLessThan(30_000)
      await runtime.call('DELETE', `/commands/${result.command_id}`)
    })

    it('reads given text from stdin, and nothing by default', async () => {
      expect((await runtime.run('cat; echo end', { stdin: 'a\nb' })).stdout).toBe('a\nbend\n')
      expect((await runtime.run('cat; echo end')).stdout).toBe('end\n')
    })

    it('runs argv unchanged', async () => {
      expect((await runtime.run(['printf', '%s|', '$HOME', '*', 'a b', '', '-n', 'ü'])).stdout).toBe(
        '$HOME|*|a b||-n|ü|',
      )
    })

    it('runs in the given directory and as the given user', async () => {
      const { stdout } = await runtime.run('pwd; id -u; id -g; echo $HOME $USER $X', {
        cwd: '/etc',
        user: 'root',
        env: { X: 'y' },
      })
      expect(stdout).toBe('/etc\n0\n0\n/root root y\n')
      expect((await runtime.run('id -u; id -g', { user: '4321:8765' })).stdout).toBe('4321\n8765\n')
    })

    it('shows bytes that are not UTF-8 as U+FFFD', async () => {
      expect((await runtime.run("printf 'a\\377b'")).stdout).toBe('a\ufffdb')
    })

    it('keeps a megabyte of each stream and says what is missing', async () => {
      const result = await runtime.run("head -c 3000000 /dev/zero | tr '\\0' x; echo short >&2")
      expect(result.stdout.length).toBeLessThanOrEqual(1024 * 1024)
      expect(result.stdout.length).toBeGreaterThan(0)
      expect(result).toMatchObject({
        truncated: { stdout: true, stderr: false },
        stderr: 'short\n',
        stdout_bytes: 3_000_000,
      })
    })

    it.each([
      ['a program that is not there', { argv: ['no-such-program'] }, 'no-such-program'],
      ['a directory that is not there', { command: 'true', cwd: '/no/such' }, '/no/such'],
      ['a user who is not there', { command: 'true', user: 'nobody-here' }, 'nobody-here'],
      ['a program that may not run', { argv: ['/etc/passwd'] }, '/etc/passwd'],
    ])('is refused for %s, which is named', async (_, body, named) => {
      expect(failure(await runtime.call('POST', '/commands', { json: body }), 'invalid_request').message).toContain(
        named,
      )
    })

    it('is refused with every wrong field named', async () => {
      const body = { argv: [], cwd: 'relative', env: { '1': 2 }, user: 'a b', timeout_secs: -1, stdin: 5, shell: true }
      const error = failure(await runtime.call('POST', '/commands', { json: body }), 'invalid_request')
      expect(pointersOf(error)).toEqual(
        expect.arrayContaining(['/argv', '/cwd', '/env/1', '/shell', '/stdin', '/timeout_secs', '/user']),
      )
      const both = failure(
        await runtime.call('POST', '/commands', { json: { command: 'true', argv: ['true'] } }),
        'invalid_request',
      )
      expect(pointersOf(both)).toEqual(['/command'])
    })
  })

  describe('a stream', () => {
    it.each(['text/event-stream', 'application/x-ndjson'] as const)(
      'as %s begins with start and ends with exit and end',
      async (accept) => {
        const items = await collect(runtime, 'POST', '/commands', {
          json: { command: 'echo out; echo err >&2; exit 3' },
          headers: { accept },
        })
        expect(items[0]).toMatchObject({ type: 'start' })
        expect(items.slice(-2).map(({ type }) => type)).toEqual(['exit', 'end'])
        expect(items.at(-2)).toMatchObject({ exit_code: 3, signal: null, timed_out: false })
        expect(bytesOf(items, 'stdout').toString()).toBe('out\n')
        expect(bytesOf(items, 'stderr').toString()).toBe('err\n')
        for (const item of items.filter(({ type }) => type === 'stdout' || type === 'stderr'))
          expect(item).toMatchObject({ at: expect.stringMatching(/^20\d\d-.*Z$/) })
      },
    )

    it('sends output as it is written', async () => {
      const command = await start({ command: 'echo first; read line; echo "second $line"', stdin: true })
      const items: OutputItem[] = []
      for await (const item of follow(runtime, 'GET', `/commands/${command.command_id}/output`, {
        query: { follow: true },
      })) {
        items.push(item)
        if (item.type === 'stdout' && item.data === 'first\n') {
          await runtime.call('POST', `/commands/${command.command_id}/stdin`, { json: { data: 'go\n' } })
        }
      }
      expect(bytesOf(items, 'stdout').toString()).toBe('first\nsecond go\n')
    })

    it('resumes at any cursor with exactly the rest', async () => {
      const command = await start({ command: 'for n in $(seq 200); do echo line $n; echo error $n >&2; done' })
      await ended(command)
      const all = await collect(runtime, 'GET', `/commands/${command.command_id}/output`)
      const written = all.filter((item) => item.type === 'stdout' || item.type === 'stderr')
      expect(written.length).toBeGreaterThan(0)
      for (const [index, { cursor }] of written.entries()) {
        if (index % 20 !== 0 && index !== written.length - 1) continue
        const rest = await collect(runtime, 'GET', `/commands/${command.command_id}/output`, { query: { cursor } })
        expect(bytesOf(rest, 'stdout')).toEqual(bytesOf(written.slice(index + 1), 'stdout'))
        expect(bytesOf(rest, 'stderr')).toEqual(bytesOf(written.slice(index + 1), 'stderr'))
        expect(rest.at(-1)?.type).toBe('end')
      }
    })

    it('carries bytes that are not UTF-8, and split characters', async () => {
      const script = "printf '\\377\\000\\200'; for n in $(seq 3000); do printf 'äöü€😀'; done"
      const items = await collect(runtime, 'POST', '/commands', {
        json: { command: script },
        headers: { accept: 'application/x-ndjson' },
      })
      expect(bytesOf(items, 'stdout')).toEqual(
        Buffer.concat([Buffer.from([255, 0, 128]), Buffer.from('äöü€😀'.repeat(3000))]),
      )
    })

    it('reports output that was lost before its read', async () => {
      const command = await start({ command: 'head -c 20000000 /dev/zero; echo last' })
      await ended(command)
      const items = await collect(runtime, 'GET', `/commands/${command.command_id}/output`)
      const dropped = items.reduce((sum, item) => sum + (item.type === 'dropped' ? item.dropped_bytes : 0), 0)
      expect(dropped + bytesOf(items, 'stdout').length).toBe(20_000_005)
      expect(dropped).toBeGreaterThan(0)
      expect(bytesOf(items, 'stdout').subarray(-5).toString()).toBe('last\n')
    })

    it('that its reader closes does not end the command', async () => {
      const abort = new AbortController()
      const items = follow(runtime, 'POST', '/commands', {
        json: { command: 'echo begun; sleep 1; touch /tmp/went-on' },
        headers: { accept: 'application/x-ndjson' },
        signal: abort.signal,
      })
      for await (const item of items) if (item.type === 'stdout') break
      abort.abort()
      await until('it went on', async () => (await runtime.run('test -e /tmp/went-on')).exit_code === 0)
      await until('it ended', async () => {
        const listed = await runtime.call('GET', '/commands', { query: { state: 'running' } })
        return success(listed, 200, pageOf(Command)).data.length === 0
      })
    })
  })

  describe('a background command', () => {
    it('answers at once and is listed, newest first, in pages', async () => {
      const first = await start({ command: 'sleep 4713' })
      const second = await start({ argv: ['sleep', '4713'] })
      expect(first).toMatchObject({
        state: 'running',
        exit_code: null,
        ended_at: null,
        command: 'sleep 4713',
        argv: null,
      })
      expect(second).toMatchObject({ command: null, argv: ['sleep', '4713'] })
      const Page = pageOf(Command)
      const { data, next_cursor } = success(
        await runtime.call('GET', '/commands', { query: { state: 'running', limit: 1 } }),
        200,
        Page,
      )
      expect(data.map(({ command_id }) => command_id)).toEqual([second.command_id])
      const rest = success(
        await runtime.call('GET', '/commands', { query: { state: 'running', cursor: next_cursor ?? '' } }),
        200,
        Page,
      )
      expect(rest.data.map(({ command_id }) => command_id)).toEqual([first.command_id])
      for (const { command_id } of [first, second])
        expect((await runtime.call('DELETE', `/commands/${command_id}`)).status).toBe(200)
    })

    it('reads stdin as it arrives, to its end', async () => {
      const command = await start({ command: 'cat', stdin: true })
      const path = `/commands/${command.command_id}/stdin`
      expect(
        success(await runtime.call('POST', path, { json: { data: 'text\n' } }), 200, StdinWritten).written_bytes,
      ).toBe(5)
      await runtime.call('POST', path, {
        json: { data: Buffer.from([0, 255]).toString('base64'), encoding: 'base64', eof: true },
      })
      await ended(command)
      failure(await runtime.call('POST', path, { json: { data: 'late' } }), 'conflict')
      const items = await collect(runtime, 'GET', `/commands/${command.command_id}/output`)
      expect(bytesOf(items, 'stdout')).toEqual(Buffer.from('text\n\0\xff', 'latin1'))
    })

    it('gets signals, which it can handle', async () => {
      const command = await start({
        command: "trap 'echo got it; exit 5' USR1; echo ready; while :; do sleep 0.05; done",
      })
      const path = `/commands/${command.command_id}`
      await until('it is ready', async () => (await runtime.call('GET', `${path}/output`)).text.includes('ready'))
      success(await runtime.call('POST', `${path}/signal`, { json: { signal: 'SIGUSR1' } }), 200, Command)
      expect(await ended(command)).toMatchObject({ exit_code: 5, signal: null })
      failure(await runtime.call('POST', `${path}/signal`, { json: { signal: 'SIGTERM' } }), 'conflict')
      failure(await runtime.call('POST', `${path}/signal`, { json: { signal: 'SIGNOPE' } }), 'invalid_request')
    })

    it('that does not exist answers 404', async () => {
      failure(await runtime.call('GET', `/commands/${absentCommand}`), 'command_not_found')
      failure(await runtime.call('GET', '/commands/nonsense/output'), 'command_not_found')
      failure(await runtime.call('DELETE', `/commands/${absentCommand}`), 'command_not_found')
    })
  })

  describe('a kill reaches', () => {
    const descendants = {
      'a child': 'sleep MARK & wait',
      'a child in a session of its own': 'setsid sleep MARK & wait',
      'a daemon that forked twice': '(setsid sh -c "sleep MARK & sleep MARK" &) ; sleep MARK',
      'one that ignores every signal it can': 'trap "" HUP INT QUIT TERM; sleep MARK & wait; sleep MARK',
      'one with a cleared environment': 'env -i setsid sleep MARK & wait',
      'one that changed its name and its parent': "setsid bash -c 'exec -a innocent sleep MARK' & disown; sleep MARK",
      'one of a stopped group': 'sleep MARK & kill -STOP $!; sleep MARK',
      'each of many': 'for n in $(seq 100); do setsid sleep MARK & done; wait',
    }
    it.each(Object.entries(descendants))('%s', async (name, script) => {
      const mark = `48${Object.keys(descendants).indexOf(name)}00`
      const command = await start({ command: script.replaceAll('MARK', mark) })
      await until('it has started', async () => Number(await running(`sleep ${mark}$|innocent ${mark}$`)) > 0)
      expect(success(await runtime.call('DELETE', `/commands/${command.command_id}`), 200, Command).state).toBe(
        'exited',
      )
      expect(await running(`[s]leep ${mark}$|[i]nnocent ${mark}$`)).toBe('0')
      // Killing what is dead is success.
      expect((await runtime.call('DELETE', `/commands/${command.command_id}`)).status).toBe(200)
    })
  })

  describe('a flood of output', () => {
    it('uses the memory of the runtime, not of the service', async () => {
      forgetPeakMemory()
      const before = daemonMemory().nowMiB
      const flood = await start({ command: 'yes', timeout_secs: 20 })
      const waited = runtime.run('yes', { timeout_secs: 2 })
      const streamed = collect(runtime, 'POST', '/commands', {
        json: { command: 'yes', timeout_secs: 2 },
        headers: { accept: 'application/x-ndjson' },
      })
      // Another runtime is served meanwhile.
      await using other = await createRuntime({ isolation })
      expect((await other.run('echo served')).stdout).toBe('served\n')
      expect(await waited).toMatchObject({ timed_out: true, truncated: { stdout: true } })
      expect((await streamed).at(-1)?.type).toBe('end')
      expect(daemonMemory().peakMiB - before).toBeLessThan(200)
      await runtime.call('DELETE', `/commands/${flood.command_id}`)
    })

    it('that is not read does not fill the service', async () => {
      forgetPeakMemory()
      const before = daemonMemory().nowMiB
      const abort = new AbortController()
      const items = follow(runtime, 'POST', '/commands', {
        json: { command: 'yes', timeout_secs: 3 },
        headers: { accept: 'application/x-ndjson' },
        signal: abort.signal,
      })
      await items.next()
      // The reader holds still for as long as the command floods.
      await until(
        'the flood is over',
        async () => !(await runtime.call('GET', '/commands', { query: { state: 'running' } })).text.includes('"yes"'),
      )
      // Nothing is dropped for the reader that began it, so what the command has written is what
      // lies in all the buffers together.
      const page = success(await runtime.call('GET', '/commands'), 200, pageOf(Command))
      const flood = page.data.find(({ command }) => command === 'yes')
      expect(flood?.timed_out).toBe(true)
      expect(flood?.stdout_bytes).toBeLessThan(128 * 2 ** 20)
      expect(daemonMemory().peakMiB - before).toBeLessThan(256)
      abort.abort()
      await items.return()
    })
  })

  describe('Python', () => {
    const shells = {
      'a login shell': ['bash', '-lc'],
      'an interactive shell': ['bash', '-ic'],
      'a plain shell': ['sh', '-c'],
    }
    const script = 'command -v python; command -v pip; python -c "import sys; print(sys.prefix)"; pip --version'
    it.each(Object.entries(shells))('and pip resolve into /workspace/.venv in %s', async (_, shell) => {
      const { stdout } = await runtime.run([...shell, script])
      expect(stdout).toMatch(
        /^\/workspace\/\.venv\/bin\/python\n\/workspace\/\.venv\/bin\/pip\n\/workspace\/\.venv\npip .* from \/workspace\/\.venv\//,
      )
    })

    it('and pip resolve into it as argv', async () => {
      expect((await runtime.run(['python', '-c', 'import sys; print(sys.prefix)'])).stdout).toBe('/workspace/.venv\n')
      expect((await runtime.run(['pip', '--version'])).stdout).toContain(' /workspace/.venv/')
    })

    it('takes a local wheel by pip and by uv pip', async () => {
      await runtime.run(['python', '-c', makeWheels])
      for (const [installer, name] of [
        ['pip', 'wheel_one'],
        ['uv pip', 'wheel_two'],
      ]) {
        const result = await runtime.run(
          `${installer} install --no-index /tmp/${name}-1.0-py3-none-any.whl && python -c "import ${name}; print(${name}.__file__)"`,
        )
        expect(result.exit_code, result.stderr).toBe(0)
        expect(result.stdout).toMatch(
          new RegExp(`/workspace/\\.venv/lib/python3\\.\\d+/site-packages/${name}\\.py\\n$`),
        )
      }
    })
  })

  it('sudo works in gVisor, and gains nothing in a container', async () => {
    const { stdout } = await runtime.run('sudo -n id -u || id -u')
    expect(stdout).toBe(isolation === 'gvisor' ? '0\n' : '1000\n')
  })

  it('has the tools that coding agents use', async () => {
    const tools = ['bash', 'git', 'curl', 'jq', 'rg', 'gcc', 'make', 'node', 'npm', 'uv', 'python', 'pip']
    const { stdout } = await runtime.run(`for t in ${tools.join(' ')}; do command -v $t >/dev/null || echo $t; done`)
    expect(stdout).toBe('')
    expect((await runtime.run(['node', '-p', '6 * 7'])).stdout).toBe('42\n')
  })

  it('leaves no zombie and no stray process behind', async () => {
    const { stdout } = await runtime.run("ps -eo stat,comm --no-headers | grep '^Z' | wc -l", { user: 'root' })
    expect(stdout).toBe('0\n')
    expect(processesOf(runtime.id).length).toBeGreaterThan(0)
  })

  it('are refused an invalid body', async () => {
    anyFailure(await runtime.call('POST', '/commands', { json: null }))
    failure(
      await runtime.call('POST', '/commands', { body: 'command=true', headers: { 'content-type': 'text/plain' } }),
      'unsupported_media_type',
    )
  })
})

// Two wheels, written as PEP 427 has them.
const makeWheels = `
import zipfile
for name in ('wheel_one', 'wheel_two'):
    info = f'{name}-1.0.dist-info'
    files = {f'{name}.py': 'answer = 42\\n', f'{info}/METADATA': f'Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n',
        f'{info}/WHEEL': 'Wheel-Version: 1.0\\nGenerator: by hand\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'}
    with zipfile.ZipFile(f'/tmp/{name}-1.0-py3-none-any.whl', 'w') as wheel:
        for path, text in files.items(): wheel.writestr(path, text)
        wheel.writestr(f'{info}/RECORD', ''.join(f'{path},,\\n' for path in [*files, f'{info}/RECORD']))`
