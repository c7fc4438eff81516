import { readFileSync } from 'node:fs'
import { Command } from '@holt/protocol'
import { beforeAll, expect, it } from 'vitest'
import { anyFailure, success, wireRequest } from '../e2e/support/api.ts'
import { describeClasses } from '../e2e/support/classes.ts'
import { holt } from '../e2e/support/cli.ts'
import { service } from '../e2e/support/facts.ts'
import { send } from '../e2e/support/http.ts'
import { createRuntime, type TestRuntime } from '../e2e/support/test-runtime.ts'
import { short } from './support/length.ts'
import { OwnProject } from './support/own-project.ts'
import { withstand } from './support/withstand.ts'

/** The least number of rounds in which every question is asked once. */
const leastRounds = short(10, 60)

/** Seconds for which the guest lies. They are enough for all rounds on any machine. */
const attackSecs = short(180, 600)

/** Seconds within which a command ends if the guest of its runtime does not answer. */
const endSecs = 90

/** Memory in MiB. The answers are small. */
const growthMiB = 96

const lyingGuest = readFileSync(new URL('support/inside/lying_guest.py', import.meta.url), 'utf8')

/** Requests of a client about a runtime. Each answer contains names. */
const questions = ['/sessions', '/commands', '/files/list?path=/srv', '/files/stat?path=/srv/f', '/ports'] as const

/** The answers, counted by question. */
interface Answers {
  lies: number
  readonly refused: Record<string, number>
}

describeClasses('a lying guest', (isolation) => {
  let bystander: TestRuntime
  beforeAll(async () => {
    bystander = await createRuntime(service.unavailable.gvisor === null ? { isolation: 'gvisor' } : { isolation })
  })

  it(
    'is refused, and no other runtime is affected',
    async () => {
      await using other = await OwnProject.make(`lied-beside-${isolation}`)
      await using runtime = await createRuntime({ isolation })
      const json = { argv: ['python', '-c', lyingGuest, String(attackSecs)], user: 'root', cwd: '/', background: true }
      await withstand({ name: `a lying guest [${isolation}]`, bystander, growthMiB }, async () => {
        success(await runtime.call('POST', '/commands', { json }), 201, Command)
        const answers: Answers = { lies: 0, refused: {} }
        const until = performance.now() + attackSecs * 1000
        const isEnough = () => Object.keys(answers.refused).length === questions.length
        for (let round = 0; round < leastRounds || !isEnough(); round += 1) {
          if (performance.now() > until) break
          await Promise.all(questions.map((question) => ask(runtime, question, answers)))
          await completeSessions(runtime)
          expect((await other.call('POST', '/commands', { json: { command: 'true' } })).status).toBe(200)
        }
        expect(answers.lies, 'lies that reached a client').toBe(0)
        // Each question got a lie: otherwise the test has tried nothing.
        expect(Object.keys(answers.refused).sort()).toEqual([...questions].sort())
        return answers
      })
    },
    (attackSecs + endSecs) * 1000,
  )
})

/** Asks a runtime whose guest lies, and counts the results. */
async function ask({ path }: TestRuntime, question: string, answers: Answers): Promise<void> {
  const answer = await send(service.url, wireRequest('GET', path + question, { timeoutMs: 5_000 })).catch(() => null)
  if (answer === null) return // Another guest has connected, and an answer may never come.
  const text = answer.bytes.toString()
  if (text.includes('PWNED')) answers.lies += 1
  if (answer.status < 400) return
  anyFailure({ ...answer, text })
  if (text.includes('sent an invalid answer')) answers.refused[question] = (answers.refused[question] ?? 0) + 1
}

/** Completes a command line as an operator does, with the guest's names. */
async function completeSessions({ id }: TestRuntime): Promise<void> {
  const { stdout, code } = await holt(['__complete', '--', 'session', 'rm', id, ''])
  expect(code).toBe(0)
  expect(stdout.toString()).not.toMatch(/PWNED|[\0-\x08\x0b-\x1f]/)
}
