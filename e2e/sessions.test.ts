import { Command, CommandResult, pageOf, Session } from '@holt/protocol'
import { beforeAll, describe, expect, it } from 'vitest'
import { failure, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { holt } from './support/cli.ts'
import { bytesOf, collect } from './support/output.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

describeClasses('a shell session', (isolation) => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({ isolation, env: { GIVEN: 'yes' } })
  })

  const run = (session: string, command: string, options: object = {}) => runtime.run(command, { session, ...options })
  const list = async () =>
    success(await runtime.call('GET', '/sessions', { query: { limit: 100 } }), 200, pageOf(Session)).data

  it('keeps directory, variables, functions and umask from command to command', async () => {
    const first = await run(
      'dev',
      'mkdir -p src && cd src; export A="a b"; B=2; f() { echo "f $1"; }; umask 027; exit 3',
    )
    expect(first).toMatchObject({ exit_code: 3, session: 'dev', session_kept: true, cwd: '/workspace' })
    const second = await run('dev', 'pwd; printenv A GIVEN; echo $B; f x; umask; python -c "print(1)"; echo err >&2')
    expect(second).toMatchObject({ stdout: '/workspace/src\na b\nyes\n2\nf x\n0027\n1\n', stderr: 'err\n' })
    expect(second).toMatchObject({ exit_code: 0, cwd: '/workspace/src', user: 'user' })
    expect((await runtime.run(['cd', '..'], { session: 'dev' })).exit_code).toBe(0)
    expect((await runtime.run(['printenv', 'A'], { session: 'dev', env: { A: "it's" } })).stdout).toBe("it's\n")
    expect((await run('dev', 'pwd; echo $A')).stdout).toBe("/workspace\nit's\n")
    expect((await runtime.run('pwd; echo $A')).stdout).toBe('/workspace\n\n')
  })

  it('streams, takes stdin and limits like any command', async () => {
    const items = await collect(runtime, 'POST', '/commands', {
      json: { command: 'cat; X=1; ulimit -n', session: 'streamed', stdin: 'typed\n', rlimits: { nofile: 200 } },
      headers: { accept: 'application/x-ndjson' },
    })
    expect(bytesOf(items, 'stdout').toString()).toBe('typed\n200\n')
    expect(items.at(-2)).toMatchObject({ type: 'exit', exit_code: 0, session_kept: true })
    expect((await run('streamed', 'echo $X')).stdout).toBe('1\n')
  })

  it.each([
    ['killed its shell', 'A=2; cd /; kill -KILL $$', {}],
    ['timed out', 'A=2; cd /; sleep 4811', { timeout_secs: 1 }],
    ['became another program', 'A=2; cd /; exec true', {}],
  ])('is unchanged after a command that %s', async (_, command, options) => {
    await run('hurt', 'A=1; cd /etc')
    const result = await run('hurt', command, options)
    expect(result.session_kept).toBe(false)
    expect(success(await runtime.call('GET', `/commands/${result.command_id}`), 200, Command).session_kept).toBe(false)
    expect((await run('hurt', 'echo $A; pwd')).stdout).toBe('1\n/etc\n')
  })

  it('runs its commands one after another, from any client', async () => {
    const step = 'N=$((N+1)); mkdir /tmp/turn || echo together; sleep 0.1; rmdir /tmp/turn; echo $N'
    const results = await Promise.all(Array.from({ length: 5 }, () => run('turns', step)))
    expect(results.map(({ stdout }) => stdout).sort()).toEqual(['1\n', '2\n', '3\n', '4\n', '5\n'])
  })

  it('is listed with its command, and ends with all its processes', async () => {
    await run('ending', 'A=1; setsid sleep 4812 >/dev/null 2>&1 & true')
    const json = { command: 'trap "" TERM; sleep 4813; sleep 4813', session: 'ending', background: true }
    const long = success(await runtime.call('POST', '/commands', { json }), 201, Command)
    expect((await list()).find(({ name }) => name === 'ending')).toMatchObject({
      command_id: long.command_id,
      commands: 2,
      user: 'user',
      shell: '/bin/bash',
    })
    expect((await runtime.call('DELETE', '/sessions/ending')).status).toBe(204)
    expect((await runtime.run(['pgrep', '-f', '[s]leep 481[23]'], { user: 'root' })).exit_code).toBe(1)
    failure(await runtime.call('DELETE', '/sessions/ending'), 'session_not_found')
    failure(await runtime.call('DELETE', '/sessions/%2e%2e%2fprocesses'), 'session_not_found')
    expect((await list()).map(({ name }) => name)).not.toContain('ending')
    expect((await run('ending', 'echo "[$A]"')).stdout).toBe('[]\n')
  })

  it('belongs to one user', async () => {
    expect((await run('of-root', 'id -u; export A=1', { user: 'root' })).stdout).toBe('0\n')
    expect((await run('of-root', 'id -u; echo $A; pwd', { user: 'root' })).stdout).toBe('0\n1\n/workspace\n')
    const json = { command: 'true', session: 'of-root' }
    expect(failure(await runtime.call('POST', '/commands', { json }), 'conflict').details?.reason).toBe('session_user')
  })

  it('is plain sh if the runtime has no bash', async () => {
    await using bare = await createRuntime({ isolation })
    await bare.sh('mv /bin/bash /bin/hidden')
    expect((await bare.run('cd /etc; export A=1; umask 077; f() { :; }; B=2', { session: 's' })).session_kept).toBe(
      true,
    )
    expect((await bare.run('pwd; echo $A "[$B]"; umask', { session: 's' })).stdout).toBe('/etc\n1 []\n0077\n')
    const { data } = success(await bare.call('GET', '/sessions'), 200, pageOf(Session))
    expect(data[0]).toMatchObject({ shell: '/bin/sh', cwd: '/etc' })
  })

  it('works in the CLI', async () => {
    const exec = (...args: string[]) => holt(['exec', '--session', 'cli', runtime.id, '--', ...args])
    expect(await exec('cd', '/etc')).toMatchObject({ code: 0 })
    expect(await exec('export A=1; exit 4')).toMatchObject({ code: 4 })
    const lost = await exec('A=2; kill -9 $$')
    expect(lost.code).toBe(137)
    expect(lost.stderr).toContain('the session is unchanged')
    expect((await exec('pwd; echo $A')).stdout.toString()).toBe('/etc\n1\n')
    const listed = JSON.parse((await holt(['session', 'ls', runtime.id, '--json'])).stdout.toString())
    expect(listed.data.map(({ name }: Session) => name)).toContain('cli')
    expect(await holt(['session', 'rm', runtime.id, 'cli'])).toMatchObject({ code: 0 })
    expect((await holt(['session', 'ls', runtime.id])).stdout.toString()).not.toContain('cli')
  })

  describe('in lists', () => {
    it('comes in pages', async () => {
      const Page = pageOf(Session)
      await run('page-1', 'true')
      await run('page-2', 'true')
      const first = success(await runtime.call('GET', '/sessions', { query: { limit: 1 } }), 200, Page)
      expect(first.data).toHaveLength(1)
      const cursor = first.next_cursor ?? ''
      const rest = success(await runtime.call('GET', '/sessions', { query: { limit: 100, cursor } }), 200, Page)
      const names = [...first.data, ...rest.data].map(({ name }) => name)
      expect(new Set(names).size).toBe(names.length)
      expect(names).toEqual(expect.arrayContaining(['page-1', 'page-2']))
    })

    it('shows its command while it runs', async () => {
      const json = { command: 'cat', session: 'shown', background: true, stdin: true }
      const { command_id } = success(await runtime.call('POST', '/commands', { json }), 201, Command)
      const waiting = runtime.call('POST', '/commands', { json: { command: 'echo later', session: 'shown' } })
      await runtime.call('POST', `/commands/${command_id}/stdin`, { json: { eof: true } })
      expect(success(await waiting, 200, CommandResult).stdout).toBe('later\n')
      await until('it is idle', async () => (await list()).find(({ name }) => name === 'shown')?.command_id === null)
    })
  })
})
