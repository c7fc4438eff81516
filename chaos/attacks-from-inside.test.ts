import { readFileSync } from 'node:fs'
import { Command } from '@holt/protocol'
import { oneIn } from '@holt/testkit'
import { beforeAll, expect, it } from 'vitest'
import { anyFailure, success, wireRequest } from '../e2e/support/api.ts'
import { describeClasses } from '../e2e/support/classes.ts'
import { service } from '../e2e/support/facts.ts'
import { open, send } from '../e2e/support/http.ts'
import { createRuntime, type TestRuntime } from '../e2e/support/test-runtime.ts'
import { Chance } from './support/chance.ts'
import { insideAttacks } from './support/inside-attacks.ts'
import { every, short } from './support/length.ts'
import { withstand } from './support/withstand.ts'

/** Seconds for which each attack lasts. */
const attackSecs = short(3, 20)

/**
 * The most seconds in which a command ends in a runtime whose own programs have taken all its
 * resources.
 */
const endSecs = 90

/**
 * Memory in MiB that one runtime may cost the service: its windows, its answers, and buffered
 * output.
 */
const growthMiB = 192

const hostileGuest = readFileSync(new URL('support/inside/hostile_guest.py', import.meta.url), 'utf8')

/** Ways in which a guest can misuse its connection and the requests that it gets. */
const guestModes = [
  'garbage',
  'pings',
  'settings',
  'windows',
  'resets',
  'pushes',
  'streams',
  'unknown frames',
  'empty data',
  'a header without end',
  'a frame that is too large',
  'endless answers',
  'answers of one byte a frame',
  'endless lines',
  'endless items',
  'dialling',
  'silence',
] as const

const chance = new Chance()

describeClasses('from inside', (isolation) => {
  let bystander: TestRuntime
  beforeAll(async () => {
    // The class that most machines have, regardless of the attacker's.
    bystander = await createRuntime(service.unavailable.gvisor === null ? { isolation: 'gvisor' } : { isolation })
  })

  const sometimes = oneIn(2, `attacks from inside in ${isolation}`, it)

  /** Starts a program that goes on after its client has left. */
  async function start(runtime: TestRuntime, argv: readonly string[]): Promise<void> {
    const json = { argv, user: 'root', cwd: '/', background: true, timeout_secs: attackSecs + 5 }
    success(await runtime.call('POST', '/commands', { json }), 201, Command)
  }

  it.each(every ? insideAttacks : chance.some(insideAttacks, 1))(
    '$name',
    async ({ name, program, network }) => {
      await using runtime = await createRuntime({
        isolation,
        memory: '256MiB',
        ...(network === 'some' ? { network_policy: { allow: [{ host: 'allowed.example.com' }] } } : {}),
      })
      await withstand({ name: `${name} [${isolation}]`, bystander, growthMiB }, async () => {
        const json = { argv: ['python', '-c', program, String(attackSecs)], user: 'root', timeout_secs: attackSecs + 5 }
        const { status, text } = await runtime.call('POST', '/commands', {
          json,
          timeoutMs: (attackSecs + endSecs) * 1000,
        })
        return status === 200 ? 'ended' : (JSON.parse(text) as { error: { code: string } }).error.code
      })
    },
    (attackSecs + endSecs + 90) * 1000,
  )

  sometimes(
    'unread output of twenty commands and terminals',
    async () => {
      await using runtime = await createRuntime({ isolation })
      await withstand({ name: `output that nobody reads [${isolation}]`, bystander, growthMiB }, async () => {
        for (let n = 0; n < 20; n += 1) {
          const pty = n % 2 === 0 ? {} : { pty: { cols: 80, rows: 24 } }
          const json = { command: 'yes', background: true, timeout_secs: attackSecs, ...pty }
          success(await runtime.call('POST', '/commands', { json }), 201, Command)
        }
        const deaf = await open(
          service.url,
          wireRequest('POST', `${runtime.path}/commands`, {
            json: { command: 'yes', timeout_secs: attackSecs },
            headers: { accept: 'text/event-stream' },
          }),
        )
        deaf.pause()
        await new Promise((resolve) => setTimeout(resolve, attackSecs * 1000))
        deaf.destroy()
        return 'ended'
      })
    },
    (attackSecs + endSecs) * 1000,
  )

  sometimes(
    'hundreds of sessions and terminals',
    async () => {
      await using runtime = await createRuntime({ isolation, memory: '512MiB' })
      await withstand({ name: `sessions and terminals [${isolation}]`, bystander, growthMiB }, async () => {
        const starts = Array.from({ length: short(50, 400) }, async (_, n) => {
          const json = {
            command: 'sleep 60',
            background: true,
            ...(n % 2 === 0 ? { session: `s${n}` } : { pty: { cols: 80, rows: 24 } }),
          }
          const { status } = await send(service.url, wireRequest('POST', `${runtime.path}/commands`, { json }))
          return status
        })
        const statuses = await Promise.all(starts)
        for (const status of statuses) expect(status).not.toBe(500)
        return { started: statuses.filter((status) => status === 201).length }
      })
    },
    240_000,
  )

  it.each(every ? guestModes : chance.some(guestModes, 1))(
    'a program in place of the guest: %s',
    async (mode) => {
      await using runtime = await createRuntime({ isolation })
      const name = `a guest that is none: ${mode} [${isolation}]`
      await withstand({ name, bystander, growthMiB }, async () => {
        await start(runtime, ['python', '-c', hostileGuest, mode, String(attackSecs)])
        const until = performance.now() + attackSecs * 1000
        let asked = 0
        while (performance.now() < until) {
          const paths = ['/files/list?path=/', '/commands', '/files/content?path=/etc/passwd', '/ports']
          await Promise.all(paths.map((path) => ask(runtime, path)))
          asked += paths.length
          await new Promise((resolve) => setTimeout(resolve, 20))
        }
        return { asked }
      })
    },
    (attackSecs + endSecs) * 1000,
  )
})

/**
 * Asks a runtime whose guest may answer anything. The answer must be bounded, and an error must be
 * one of the catalogue other than `internal`.
 */
async function ask(runtime: TestRuntime, path: string): Promise<void> {
  const wire = wireRequest('GET', runtime.path + path, { timeoutMs: 3_000 })
  const answer = await send(service.url, wire).catch(() => null) // An answer that never ends is given up.
  if (answer !== null && answer.status >= 400) anyFailure({ ...answer, text: answer.bytes.toString() })
}
