import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { lacks } from '../../../builder/test/support/machine.ts'

const source = fileURLToPath(new URL('../../src/daemon/take-precedence.ts', import.meta.url))
const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** Takes precedence, and prints what it has logged and which nice values its own session and one that it starts have then. */
const program = `
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { takePrecedence } from ${JSON.stringify(source)}
const logged = []
const log = Object.fromEntries(['debug', 'info', 'warn', 'error'].map((level) => [level, (facts) => logged.push([level, facts.err?.code ?? null])]))
await takePrecedence(log)
const read = (text) => Number(/nice (-?\\d+)$/m.exec(text)[1])
const started = execFileSync('setsid', ['--wait', 'cat', '/proc/self/autogroup'], { encoding: 'utf8' })
console.log(JSON.stringify({ logged, own: read(readFileSync('/proc/self/autogroup', 'utf8')), started: read(started) }))
`

async function take({ leads, by = [] }: { readonly leads: boolean; readonly by?: readonly string[] }) {
  const [file = '', ...argv] = [...by, process.execPath, '--input-type=module', '--eval', program]
  const child = spawn(file, argv, { cwd: '/', detached: leads, stdio: ['ignore', 'pipe', 'inherit'] })
  return JSON.parse(await text(child.stdout))
}

/** Why nobody can take precedence here, as text for a title; empty where one can. */
async function whyNot(): Promise<string> {
  const enabled = await readFile('/proc/sys/kernel/sched_autogroup_enabled', 'utf8').catch(() => '') // The kernel has not that feature.
  if (enabled.trim() !== '1') return ' (skipped: the kernel shares no processor time out by sessions)'
  const capabilities = /^CapEff:\t(\w+)$/m.exec(await readFile('/proc/self/status', 'utf8'))?.[1]
  // CAP_SYS_NICE of capabilities(7).
  if (((BigInt(`0x${capabilities}`) >> 23n) & 1n) === 0n) return ' (skipped: no CAP_SYS_NICE)'
  return lacks('setsid', 'setpriv')
}

const missing = await whyNot()

/** What a session has by itself. */
const usual = 0

test.skipIf(missing !== '')(
  `a daemon that leads its session comes before other sessions, those that it starts among them${missing}`,
  async () => {
    expect(await take({ leads: true })).toEqual({ logged: [['debug', null]], own: -5, started: usual })
  },
)

test.skipIf(missing !== '')(`the service does so first of all${missing}`, async () => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-precedence-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const env = {
    PATH: process.env.PATH,
    HOLT_STATE_DIR: join(dir, 'state'),
    HOLT_RUN_DIR: join(dir, 'run'),
    HOLT_PORT: '0',
    HOLT_LOG_LEVEL: 'debug',
    HOLT_GUEST: '/nowhere/holt-guest', // Which is the end of it, once it has begun.
  }
  const child = spawn(process.execPath, [main, 'serve'], {
    cwd: '/',
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [first = ''] = (await text(child.stdout)).split('\n')
  expect(JSON.parse(first)).toMatchObject({ nice: -5, msg: expect.stringContaining('precedence') })
})

test.skipIf(missing !== '')(`one that shares its session raises nobody${missing}`, async () => {
  const { own } = await take({ leads: false, by: ['setsid', '--wait', 'sh', '-c', '"$@"; :', 'sh'] })
  expect(own).toBe(usual)
})

test.skipIf(missing !== '')(`one that may not goes on, and says so at debug${missing}`, async () => {
  const by = ['setpriv', '--bounding-set', '-sys_nice', '--']
  expect(await take({ leads: true, by })).toEqual({ logged: [['debug', 'EPERM']], own: usual, started: usual })
})
