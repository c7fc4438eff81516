import { Command, pageOf, type StartCommandInput } from '@holt/protocol'
import { beforeAll, describe, expect, it } from 'vitest'
import { anyFailure, call, failure, success } from './support/api.ts'
import { TestAttachment } from './support/attach.ts'
import { describeClasses } from './support/classes.ts'
import { holt } from './support/cli.ts'
import { daemonMemory } from './support/host.ts'
import { Keyboard } from './support/keyboard.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

const pty = { cols: 90, rows: 30 }

/** Says what it is sent, with the keys that would be signals as plain bytes. */
const rawProgram = `
import os, signal, sys, tty
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
    signal.signal(number, lambda number, _: os.write(1, b'signal %d;' % number))
tty.setraw(0)
os.write(1, b'ready;')
while (data := os.read(0, 100)) != b'q':
    for byte in data:
        os.write(1, b'byte %d;' % byte)
`

describeClasses('terminals', (isolation) => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({ isolation, name: `terminals-${isolation}` })
  })

  const start = async (body: Partial<StartCommandInput>) =>
    success(await runtime.call('POST', '/commands', { json: { background: true, pty, ...body } }), 201, Command)
  const pathOf = ({ command_id }: Command) => `${runtime.path}/commands/${command_id}`
  const get = async (command: Command) => success(await call('GET', pathOf(command)), 200, Command)
  const shows = (attachment: TestAttachment, text: string | RegExp) =>
    until(`it shows ${text}`, async () => attachment.text.match(text) !== null, 40_000).catch((error: Error) => {
      throw new Error(`${error.message}; it shows ${JSON.stringify(attachment.text)}`)
    })
  const ends = async (attachment: TestAttachment) => {
    await until('it ends', async () => attachment.last('end') !== undefined, 40_000).catch((error: Error) => {
      throw new Error(`${error.message}; it shows ${JSON.stringify(attachment.text.slice(-2000))}`)
    })
    expect(await attachment.closed).toBe(1000)
  }
  const play = async (body: Partial<StartCommandInput>) => {
    const command = await start(body)
    return { command, screen: new TestAttachment(pathOf(command), { write: true }) }
  }

  describe('a command in a terminal', () => {
    it('has its own terminal, like a login', async () => {
      const script = `tty; stty size; echo $TERM; test -t 0 && test -t 1 && test -t 2 && echo all; stat -c %U "$(tty)"
stty -a | tr ' ' '\\n' | grep -E '^(echo|icanon|isig|iutf8|onlcr);?$' | sort | tr '\\n' ' '; echo; echo err >&2; exit 5`
      const { stdout, stderr, exit_code } = await runtime.run(script, { pty, stdin: false })
      const lines = stdout.split('\r\n')
      expect(lines.shift()).toMatch(/^\/dev\/pts\/\d+$/)
      expect(lines).toEqual(['30 90', 'xterm-256color', 'all', 'user', 'echo icanon isig iutf8 onlcr ', 'err', ''])
      expect({ stderr, exit_code }).toEqual({ stderr: '', exit_code: 5 })
    })

    it('opens it as /dev/tty', async () => {
      const { stdout, exit_code } = await runtime.run('echo written > /dev/tty', { pty, stdin: false })
      expect({ stdout, exit_code }).toEqual({ stdout: 'written\r\n', exit_code: 0 })
    })

    it('gets typed keys: signals reach the foreground, and nothing is left behind', async () => {
      const { screen } = await play({ argv: ['bash', '--norc'], env: { PS1: 'PROMPT ', TERM: 'dumb' } })
      await shows(screen, /PROMPT $/)
      screen.type('sleep 4801\r')
      await until('it runs', async () => (await runtime.run(['pgrep', '-f', '^sleep 4801'])).exit_code === 0)
      screen.type('half a line\x03')
      await shows(screen, /sleep 4801[^$]*PROMPT $/)
      screen.type('echo $((40 + 1)) a\x7fb\r')
      await shows(screen, /\n41 b\r\n/)
      screen.type('sleep 4802\r')
      await until('it runs', async () => (await runtime.run(['pgrep', '-f', '^sleep 4802'])).exit_code === 0)
      screen.type('\x1a')
      await shows(screen, 'Stopped')
      screen.type('exit 4\r')
      await shows(screen, 'There are stopped jobs')
      screen.type('exit 4\r')
      await ends(screen)
      expect(screen.last('exit')).toMatchObject({ exit_code: 4, signal: null })
    })

    it('without a terminal gets plain bytes and no signals', async () => {
      const { screen } = await play({ argv: ['python', '-c', rawProgram] })
      await shows(screen, 'ready;')
      screen.type('\x03')
      await shows(screen, 'byte 3;')
      screen.type('\x1a\x1c\r')
      await shows(screen, 'byte 26;byte 28;byte 13;')
      screen.type('q')
      await ends(screen)
      expect(screen.text).not.toContain('signal')
      expect(screen.last('exit')).toMatchObject({ exit_code: 0 })
    })

    it('gets a new size, through both routes', async () => {
      const loop = 'trap "stty size" WINCH; echo ready; while :; do sleep 0.05; done'
      const { command, screen } = await play({ argv: ['bash', '-c', loop] })
      await shows(screen, 'ready')
      screen.say({ type: 'resize', cols: 132, rows: 50 })
      await shows(screen, '50 132')
      const answer = await call('POST', `${pathOf(command)}/resize`, { json: { cols: 70, rows: 20 } })
      expect(success(answer, 200, Command).pty).toEqual({ cols: 70, rows: 20 })
      await shows(screen, '20 70')
      expect(screen.last('resize')).toEqual({ type: 'resize', cols: 70, rows: 20 })
      await call('DELETE', pathOf(command))
      anyFailure(await call('POST', `${pathOf(command)}/resize`, { json: pty }))
    })

    it('reads the end of its input where it is typed', async () => {
      const { screen } = await play({ command: 'cat; echo over; cat' })
      screen.type('line\r')
      screen.say({ type: 'eof' })
      await shows(screen, /line\r\nline\r\nover\r\n/)
      screen.type('\x04')
      await ends(screen)
    })

    it('ends when its process ends, and a kill leaves no process', async () => {
      const script =
        '(trap "" HUP; exec setsid sleep 4803) & until pgrep -f "^sleep 4803" > /dev/null; do sleep 0.02; done; echo done'
      const ended = await runtime.run(script, { pty })
      expect(ended).toMatchObject({ stdout: 'done\r\n', exit_code: 0 })
      const left = ['pgrep', '-c', '-f', '^sleep 480[34]']
      expect((await runtime.run(left)).stdout).toBe('1\n')
      await call('DELETE', pathOf(ended))
      const { command, screen } = await play({
        argv: ['bash', '-ic', 'trap "" HUP TERM; sleep 4804 & (setsid sleep 4804 &); echo rea""dy; sleep 4804'],
      })
      await shows(screen, 'ready')
      await call('DELETE', pathOf(command))
      expect((await runtime.run(left)).stdout).toBe('0\n')
      await ends(screen)
      expect(screen.last('exit')).toMatchObject({ signal: 'SIGKILL' })
    })

    // No process gains rights in a container.
    if (isolation === 'gvisor') {
      it('can become root in it', async () => {
        const { screen } = await play({ command: `sudo sh -c 'id -u; read answer; echo said $answer'` })
        await shows(screen, /^0\r\n/)
        screen.type('yes\r')
        await shows(screen, 'said yes')
        await ends(screen)
      })
    }

    it('is refused an invalid size', async () => {
      for (const size of [{ cols: 0, rows: 1 }, { cols: 1.5, rows: 1 }, { cols: 80 }, { cols: 80, rows: 24, x: 1 }])
        failure(await runtime.call('POST', '/commands', { json: { command: 'true', pty: size } }), 'invalid_request')
    })
  })

  describe('attachments', () => {
    it('many watch, one types, and another can take over', async () => {
      const { command, screen: one } = await play({ command: 'stty -echo; echo rea""dy; cat' })
      await shows(one, 'ready')
      using two = new TestAttachment(pathOf(command), { write: true })
      using watcher = new TestAttachment(pathOf(command))
      await shows(two, 'ready')
      await until('it is told', async () => two.last('writer')?.reason === 'taken')
      two.type('nothing\r')
      await until('it is refused', async () => two.last('error')?.about === 'input')
      two.say({ type: 'write', takeover: true })
      await until('it is granted', async () => two.last('writer')?.reason === 'granted')
      await until('it is told', async () => one.last('writer')?.reason === 'lost')
      two.type('two\r')
      for (const each of [one, two, watcher]) await shows(each, /ready\r\ntwo\r\n$/)
      two.say({ type: 'signal', signal: 'SIGKILL' })
      for (const each of [one, two, watcher]) await ends(each)
    })

    it('that break continue after the last byte', async () => {
      const command = await start({ command: 'seq 1 60000' })
      const whole: Buffer[] = []
      for (let cursor = 0, ended = false; !ended; ) {
        using part = new TestAttachment(pathOf(command), { cursor, write: true, client: 'one-client-0001' })
        const most = 20_000 + (cursor % 70_000)
        await until(
          'it has come far enough',
          async () => part.output.length > most || part.last('end') !== undefined,
          40_000,
        )
        ended = part.last('end') !== undefined
        cursor = part.cursor
        whole.push(part.output)
      }
      const expected = Array.from({ length: 60_000 }, (_, index) => `${index + 1}\r\n`).join('')
      expect(Buffer.concat(whole).toString() === expected).toBe(true)
    })

    it('carry bytes to a command without a terminal, and keep its streams apart', async () => {
      const command = success(
        await runtime.call('POST', '/commands', {
          json: { background: true, stdin: true, command: 'cat; echo err >&2; exit 3' },
        }),
        201,
        Command,
      )
      expect(command.pty).toBeNull()
      const attachment = new TestAttachment(pathOf(command), { write: true })
      await until('it is granted', async () => attachment.last('writer')?.reason === 'granted')
      attachment.type('in\x03\x00\n')
      attachment.say({ type: 'eof' })
      await ends(attachment)
      expect(attachment.text).toBe('in\x03\x00\nerr\n')
      expect(attachment.last('stream')).toMatchObject({ stream: 'stderr', cursor: 5 })
      expect(attachment.last('exit')).toMatchObject({ exit_code: 3 })
    })

    it('make the command wait for a slow writer, and use little memory of the service', async () => {
      const command = await start({ command: 'yes' })
      const slow = new TestAttachment(pathOf(command), { write: true, window: 65_536, cursor: 0 })
      const bytes = async () => (await get(command)).stdout_bytes
      const standing = await until('it waits', async () => {
        const before = await bytes()
        await new Promise((resolve) => setTimeout(resolve, 500))
        return before > 0 && (await bytes()) === before ? before : null
      })
      expect(slow.output.length).toBeLessThanOrEqual(65_536)
      slow.close()
      await until('it goes on', async () => (await bytes()) > standing + 1_000_000)
      expect(daemonMemory().nowMiB).toBeLessThan(600)
      await call('DELETE', pathOf(command))
    })
  })

  describe('holt shell', () => {
    const name = `terminals-${isolation}`
    const commands = async () => success(await runtime.call('GET', '/commands?limit=100'), 200, pageOf(Command)).data

    it('is a terminal: keys, size and exit code work, and the local one is restored', async () => {
      using keyboard = new Keyboard(['shell', name, '-e', 'PS1=PROMPT '])
      await keyboard.shows('Ctrl-P Ctrl-Q leaves it')
      keyboard.type('PS1=PROM""PT\\ ; shopt login_shell; stty size; python -c "import sys; print(sys.prefix)"\r')
      await keyboard.shows(/login_shell\s+on\r\n24 80\r\n\/workspace\/\.venv\r\n/)
      keyboard.resize(40, 120)
      await until('it has the size', async () => (await commands())[0]?.pty?.cols === 120)
      keyboard.type('stty size; sleep 4805\r')
      await keyboard.shows(/40 120\r\n/)
      await until('it runs', async () => (await runtime.run(['pgrep', '-f', '^sleep 4805'])).exit_code === 0)
      keyboard.type('\x03')
      await keyboard.shows(/PROMPT $/)
      expect((await holt(['ps', name, '--state', 'running'])).stdout.toString()).toContain('120x40')
      keyboard.type('exit 7\r')
      expect(await keyboard.ended).toEqual({ code: 7, restored: true })
    })

    it('ends with its detach keys or a signal, and can be reattached', async () => {
      using first = new Keyboard(['shell', name, '--', 'sh', '-c', 'echo beg""un; read a; echo got $a; read b; exit 6'])
      await first.shows('begun')
      first.type('\x10\x11')
      await first.shows('left; come back with')
      expect(await first.ended).toEqual({ code: 0, restored: true })
      const id = /attach \S+ (cm[a-z0-9]{20})/.exec(first.screen)?.[1] ?? ''
      using second = new Keyboard(['shell', name, '--attach', id.slice(0, 12)])
      await second.shows('begun')
      using watcher = new Keyboard(['attach', name, id, '--watch'])
      await watcher.shows('begun')
      second.type('\x10it\r')
      await second.shows('got \x10it')
      second.signal(15)
      expect(await second.ended).toEqual({ code: 143, restored: true })
      using third = new Keyboard(['attach', name])
      await third.shows('got')
      watcher.type('not typed\x03')
      expect(await watcher.ended).toEqual({ code: 130, restored: true })
      third.type('\r')
      expect(await third.ended).toEqual({ code: 6, restored: true })
    })

    it.each([
      ['shell', ['shell', name]],
      ['exec -t', ['exec', '-t', name, '--', 'tty']],
    ])('%s without a terminal names the right command', async (_, args) => {
      expect(await holt(args, { stdin: 'hi\n' })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`holt exec ${name}`),
      })
    })

    it('loses no output from before the attachment', async () => {
      using keyboard = new Keyboard(['exec', '-t', name, '--', 'seq', '1', '400000'])
      expect(await keyboard.ended).toMatchObject({ code: 0 })
      // Before it stands how the terminal is left. Each line has its return.
      const output = keyboard.screen.slice(-3_088_895)
      expect(output.slice(0, 6)).toBe('1\r\n2\r\n')
      expect(output.slice(-8)).toBe('400000\r\n')
    })

    it('exec -it also has a terminal', async () => {
      using keyboard = new Keyboard(['exec', '-it', name, '--', 'sh', '-c', 'read a; echo "<$a>"; exit 8'])
      await keyboard.shows('Ctrl-P')
      keyboard.type('hi\r')
      await keyboard.shows('<hi>')
      expect(await keyboard.ended).toEqual({ code: 8, restored: true })
    })
  })
})
