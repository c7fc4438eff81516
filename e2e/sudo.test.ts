import { Command, type StartCommandInput } from '@holt/protocol'
import { beforeAll, describe, expect, it } from 'vitest'
import { success } from './support/api.ts'
import { TestAttachment } from './support/attach.ts'
import { service } from './support/facts.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

// In the class `container` no process gains rights: commands.test.ts and isolation.test.ts say so.
describe.skipIf(service.unavailable.gvisor !== null)('sudo in gVisor', () => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({ isolation: 'gvisor' })
    const accounts = 'useradd --create-home other; useradd --create-home --groups sudo able'
    expect(await runtime.run(accounts, { user: 'root' })).toMatchObject({ exit_code: 0 })
  })

  const start = async (body: Partial<StartCommandInput>) =>
    success(await runtime.call('POST', '/commands', { json: { background: true, ...body } }), 201, Command)
  const shows = (screen: TestAttachment, text: string | RegExp) =>
    until(`it shows ${text}`, async () => screen.text.match(text) !== null, 40_000).catch((error: Error) => {
      throw new Error(`${error.message}; it shows ${JSON.stringify(screen.text)}`)
    })
  /** How many processes of this command line run, as root sees it. */
  const running = async (line: string) =>
    (await runtime.run(['pgrep', '-c', '-x', '-f', line], { user: 'root' })).stdout.trim()

  it.each([
    { command: 'command -v sudo; sudo -n id -u', stdout: '/usr/bin/sudo\n0\n' },
    { command: 'sudo -n -u other id -un', stdout: 'other\n' },
    { command: 'sudo -n printenv USER SUDO_USER SUDO_UID', stdout: 'root\nuser\n1000\n' },
    { command: 'X=y sudo -n printenv X; X=y sudo -n -E printenv X; sudo -n A=b printenv A', stdout: 'y\nb\n' },
    { command: 'cd /usr/bin; sudo -n pwd; cd /; sudo -n -i pwd', stdout: '/usr/bin\n/root\n' },
    { command: 'echo in | sudo -n cat | tr a-z A-Z', stdout: 'IN\n' },
    {
      command: "exec 2>/dev/null; sudo -n sh -c 'exit 7'; echo $?; sudo -n sh -c 'kill -9 $$'; echo $?",
      stdout: '7\n137\n',
    },
    { command: 'sudo -n sudo -n sudo -n id -u', stdout: '0\n' },
    { command: 'su -c id; echo $?', stdout: /1\n$/, stdin: 'guess\n' },
    { command: "sudo -n su other -c 'id -un'", stdout: 'other\n' },
  ])('$command', async ({ command, stdout, stdin }) => {
    const result = await runtime.run(command, stdin === undefined ? {} : { stdin })
    if (typeof stdout === 'string') expect(result).toMatchObject({ stdout, stderr: expect.not.stringMatching(/./) })
    else expect(result.stdout).toMatch(stdout)
  })

  it('works for members of its group, and asks everyone else for a password', async () => {
    expect(await runtime.run('sudo -n id -u', { user: 'able' })).toMatchObject({ stdout: '0\n', exit_code: 0 })
    const refused = await runtime.run('sudo -n id -u', { user: 'other' })
    expect(refused).toMatchObject({ stdout: '', exit_code: 1 })
    expect(refused.stderr).toContain('password')
  })

  it('gains nothing for a process with no_new_privs', async () => {
    const result = await runtime.run('setpriv --no-new-privs sudo -n id -u')
    expect(result).toMatchObject({ stdout: '', exit_code: 1 })
    expect(result.stderr).toContain('no new privileges')
  })

  it('works in an image whose sudo links to the guest, as in earlier versions', async () => {
    await runtime.run('ln -s /run/holt-guest /usr/local/bin/sudo', { user: 'root' })
    expect(await runtime.run('command -v sudo; sudo -n id -u')).toMatchObject({ stdout: '/usr/local/bin/sudo\n0\n' })
    await runtime.run('rm /usr/local/bin/sudo', { user: 'root' })
  })

  it('gives an interactive shell with job control', async () => {
    const command = await start({ argv: ['bash', '-i'], pty: { cols: 90, rows: 30 } })
    using screen = new TestAttachment(`${runtime.path}/commands/${command.command_id}`, { write: true })
    screen.type('sudo -i\r')
    await shows(screen, 'root@')
    screen.type('echo I am $(id -u)\r')
    await shows(screen, 'I am 0')
    // It starts no program after "begun": a child that is stopped between vfork(2) and execve(2)
    // would keep its parent from stopping.
    const job = `sh -c 'sleep 60 & trap "echo con""tinued" CONT; echo be""gun; while :; do wait; done'`
    screen.type(`${job}\r`)
    await shows(screen, 'begun')
    screen.type('\x1a')
    await shows(screen, /Stopped/)
    screen.type('fg\r')
    await shows(screen, 'continued')
    screen.type('\x03')
    await shows(screen, /continued[\s\S]*root@/)
    screen.type('echo all is "over"\r')
    await shows(screen, 'all is over')
    screen.type('exit\r')
    screen.type('echo back as $(id -u)\r')
    await shows(screen, 'back as 1000')
    expect(screen.text).not.toContain('no job control')
    await runtime.call('DELETE', `/commands/${command.command_id}`)
  })

  it('leaves nothing when its command is killed', async () => {
    const command = await start({ command: "sudo -n sh -c 'setsid sleep 4821 & exec sleep 4821'" })
    await until('both run', async () => (await running('sleep 4821')) === '2')
    await runtime.call('DELETE', `/commands/${command.command_id}`)
    expect(await running('sleep 4821')).toBe('0')
  })

  it('leaves nothing when its command times out', async () => {
    const result = await runtime.run('sudo -n sh -c \'trap "" TERM HUP; sleep 4822; sleep 4822\'', { timeout_secs: 2 })
    expect(result.timed_out).toBe(true)
    await until('it is gone', async () => (await running('sleep 4822')) === '0')
  })
})
