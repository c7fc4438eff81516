// Commands and terminals.
import assert from 'node:assert/strict'
import { check, finish, recordInstance, sdk, until } from './recorder.mjs'

const { Sandbox, CommandExitError, NotFoundError, TimeoutError } = sdk
const sandbox = await Sandbox.create({ timeoutMs: 900_000 })
const { commands, pty } = sandbox
recordInstance('Commands', commands)
recordInstance('Pty', pty)
const first = await commands.run('true', { background: true })
recordInstance('CommandHandle', first)
await first.wait()
const decoder = new TextDecoder()
const encoder = new TextEncoder()
const runs = async (pid) => (await commands.list()).some((process) => process.pid === pid)

await check(
  'a command has its output, directory, user, variables and exit code',
  { works: ['Commands#run'] },
  async () => {
    const seen = { stdout: [], stderr: [] }
    const result = await commands.run('echo out; echo err >&2; pwd; id -un; echo "$A"', {
      cwd: '/tmp',
      user: 'root',
      envs: { A: 'b c' },
      onStdout: (text) => void seen.stdout.push(text),
      onStderr: (text) => void seen.stderr.push(text),
    })
    assert.equal(result.stdout, 'out\n/tmp\nroot\nb c\n')
    assert.equal(result.stderr, 'err\n')
    assert.equal(result.exitCode, 0)
    assert.deepEqual([seen.stdout.join(''), seen.stderr.join('')], [result.stdout, result.stderr])
    const error = await commands.run('exit 3').catch((error) => error)
    assert.ok(error instanceof CommandExitError)
    assert.deepEqual([error.exitCode, error.error], [3, 'exit status 3'])
  },
)

await check('the time of a command ends', { works: ['Commands#run', 'Commands#list'] }, async () => {
  await assert.rejects(commands.run('exec sleep 61.5', { timeoutMs: 700 }), TimeoutError)
  await until(async () => !(await commands.list()).some(({ args }) => args.some((arg) => arg.includes('sleep 61.5'))))
})

await check(
  'a command in the background is listed, found and killed',
  {
    works: [
      'Commands#run',
      'Commands#list',
      'Commands#connect',
      'Commands#kill',
      'CommandHandle#kill',
      'CommandHandle#wait',
    ],
  },
  async () => {
    const begun = await commands.run('sleep 1; echo later; exec sleep 500', {
      background: true,
      envs: { A: 'b' },
      cwd: '/tmp',
    })
    const listed = (await commands.list()).find(({ pid }) => pid === begun.pid)
    assert.equal(listed.cmd, '/bin/bash')
    assert.equal(listed.cwd, '/tmp')
    const seen = []
    const again = await commands.connect(begun.pid, { onStdout: (text) => void seen.push(text) })
    await until(async () => seen.join('') === 'later\n')
    assert.equal(await begun.kill(), true)
    for (const handle of [begun, again]) {
      const error = await handle.wait().catch((error) => error)
      assert.deepEqual([error.exitCode, error.error], [-1, 'signal: killed'])
    }
    assert.equal(await commands.kill(begun.pid), false)
    await assert.rejects(commands.connect(999_999), NotFoundError)
  },
)

await check('a command outlives its client', { works: ['CommandHandle#disconnect', 'Commands#kill'] }, async () => {
  const begun = await commands.run('sleep 500', { background: true })
  await begun.disconnect()
  assert.ok(await runs(begun.pid))
  assert.equal(await commands.kill(begun.pid), true)
  await until(async () => !(await runs(begun.pid)))
})

await check(
  'a command reads its input until it is closed',
  {
    works: [
      'Commands#sendStdin',
      'Commands#closeStdin',
      'CommandHandle#sendStdin',
      'CommandHandle#closeStdin',
      'CommandHandle#wait',
    ],
  },
  async () => {
    const begun = await commands.run('cat', { background: true, stdin: true })
    await commands.sendStdin(begun.pid, 'one é\n')
    await begun.sendStdin(new Uint8Array([116, 119, 111, 10]))
    await begun.closeStdin()
    assert.equal((await begun.wait()).stdout, 'one é\ntwo\n')
    const other = await commands.run('wc -c', { background: true, stdin: true })
    await commands.sendStdin(other.pid, 'x'.repeat(100_000))
    await commands.closeStdin(other.pid)
    assert.equal((await other.wait()).stdout.trim(), '100000')
    const deaf = await commands.run('cat', { background: true })
    assert.equal((await deaf.wait()).stdout, '')
  },
)

await check(
  'a terminal has its size, input, variables and user',
  { works: ['Pty#create', 'Pty#sendInput', 'Pty#resize', 'CommandHandle#wait'] },
  async () => {
    const seen = []
    const terminal = await pty.create({
      cols: 90,
      rows: 20,
      cwd: '/tmp',
      user: 'root',
      envs: { A: 'b c' },
      onData: (data) => void seen.push(decoder.decode(data)),
    })
    await pty.sendInput(terminal.pid, encoder.encode('stty size\n'))
    await until(async () => /20 90/.test(seen.join('')))
    await pty.resize(terminal.pid, { cols: 101, rows: 31 })
    await pty.sendInput(terminal.pid, encoder.encode('stty size; echo "in $PWD as $(id -un) with $A"; exit 4\n'))
    assert.equal((await terminal.wait().catch((error) => error)).exitCode, 4)
    assert.match(seen.join(''), /31 101/)
    assert.match(seen.join(''), /in \/tmp as root with b c/)
  },
)

await check('a terminal is found again and killed', { works: ['Pty#connect', 'Pty#kill', 'Pty#create'] }, async () => {
  const terminal = await pty.create({ cols: 80, rows: 24, onData: () => {}, timeoutMs: 0 })
  await terminal.disconnect()
  const seen = []
  const again = await pty.connect(terminal.pid, { onData: (data) => void seen.push(decoder.decode(data)) })
  await pty.sendInput(terminal.pid, encoder.encode('echo $((6 * 7))\n'))
  await until(async () => /^42/m.test(seen.join('')))
  assert.equal(await pty.kill(terminal.pid), true)
  assert.equal((await again.wait().catch((error) => error)).exitCode, -1)
  assert.equal(await pty.kill(terminal.pid), false)
})

await check(
  'a child that keeps the output does not delay its command',
  {
    differs: { 'Commands#run': 'a command ends with its shell: a child that keeps the output open does not delay it' },
  },
  async () => {
    const begun = Date.now()
    assert.equal((await commands.run('sleep 30 & echo started')).stdout, 'started\n')
    assert.ok(Date.now() - begun < 25_000)
  },
)

await sandbox.kill()
await finish()
