import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { buildGuest, missing, temporaryDirectory } from '../support/test-machine.ts'

/** Begins the launcher, tells who it is, and stays, as a daemon does. */
const daemon = 'exec 3<&0; "$0" launch $$ <&3 & echo $!; wait'

test.skipIf((await missing('go')) !== null)(
  'the launcher of a daemon that was killed starts nothing more, though it was asked to before',
  { timeout: 60_000 },
  async () => {
    await using dir = await temporaryDirectory()
    const child = spawn('sh', ['-c', daemon, await buildGuest(dir.path)], { stdio: ['pipe', 'pipe', 'ignore'] })
    const closed = once(child, 'close')
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const nextLine = async () => String((await lines.next()).value)
    const ask = (id: number, argv: readonly string[]) => child.stdin.write(`${JSON.stringify({ id, argv })}\n`)
    const launcher = Number(await nextLine())
    ask(1, ['true'])
    expect(JSON.parse(await nextLine())).toMatchObject({ id: 1, code: 0 })
    process.kill(launcher, 'SIGSTOP') // As on a busy machine.
    const late = join(dir.path, 'late')
    ask(2, ['touch', late])
    child.kill('SIGKILL')
    await once(child, 'exit')
    process.kill(launcher, 'SIGCONT')
    await closed // It had the other end of both pipes, and its stdin was not closed.
    await expect(access(late)).rejects.toMatchObject({ code: 'ENOENT' })
  },
)
