import { byLength, shareOf } from '@holt/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Answer, anyFailure, call } from '../e2e/support/api.ts'
import { createRuntime, type TestRuntime } from '../e2e/support/test-runtime.ts'
import { tarOf } from '../packages/server/test/support/tar-of.ts'
import { deleteProject, makeProject } from './support/own-project.ts'
import { withstand } from './support/withstand.ts'

const path = '/v1/agents/template'

/** Time after which a check or a build counts as hung. */
const endMs = 60_000

/**
 * The number of times that each Dockerfile is sent. One takes seconds to check or to build, which
 * is long enough to measure.
 */
const rounds = byLength({ short: 1, long: 3, soak: 20 })

const lines = (count: number, line: (index: number) => string) => Array.from({ length: count }, (_, n) => line(n))

/**
 * Words whose expansion takes the most steps, or gives the most characters, that one line may have.
 */
const dockerfiles = {
  'patterns that go back at every character': [
    `ARG X=${'a'.repeat(200_000)}`,
    ...lines(20, (n) => `ARG Y${n}=\${X//*a*a*b/z}`),
  ],
  'replacements of large values': [`ARG X=${'a'.repeat(500_000)}`, ...lines(450, (n) => `ARG Y${n}=\${X//b/c}`)],
  'values that double': ['ARG X0=aaaaaaaaaaaaaaaa', ...lines(40, (n) => `ARG X${n + 1}=$X${n}$X${n}`)],
} as const

/** The beginning of each name of the context, against which a pattern is matched at every place. */
const start = 'a'.repeat(240)

/** One pattern takes 95 of the 100 million steps that one build has (`MAX_SEARCH_STEPS`). */
const files = Object.fromEntries(lines(4_400, (n) => `${start}${n}`).map((name) => [name, 'x'] as const))

/** A pattern that fits no name, and takes the most steps to find that. */
const pattern = `*${'a'.repeat(118)}b*`

let bystander: TestRuntime
let attacker: Awaited<ReturnType<typeof makeProject>>
beforeAll(async () => {
  bystander = await createRuntime()
  // Images stay for a while, and so does their project.
  attacker = await makeProject(`slow-dockerfiles-${Date.now()}`)
})
afterAll(async () => {
  if (attacker === undefined) return
  await call('DELETE', `${path}/slow`, { key: attacker.key })
  await deleteProject(attacker.projectId)
})

it.each(shareOf(Object.entries(dockerfiles), 1 / 3, 'checks of slow Dockerfiles'))(
  'a check of %s',
  async (name, instructions) => {
    const dockerfile = [...instructions, 'FROM scratch', ''].join('\n')
    await withstand({ name: `a check of ${name}`, bystander, growthMiB: 192 }, async () => {
      const statuses: (number | string)[] = []
      for (let round = 0; round < rounds; round += 1) statuses.push(told(await ask('check', { dockerfile })))
      return statuses
    })
  },
  rounds * endMs + 90_000,
)

const builds = [
  ['the most steps that a build has', 1, 'ready'],
  ['more steps than a build has', 25, 'failed'],
] as const

it.each(shareOf(builds, 1 / 2, 'slow builds'))(
  'builds of COPY patterns that match no name, beside an existing file, with %s',
  async (steps, copies, end) => {
    const body = await tarOf(files)
    const context = await call('POST', `${path}/context`, { body, key: attacker.key, timeoutMs: endMs })
    expect(context.status).toBe(201)
    const { context_id } = JSON.parse(context.text) as { context_id: string }
    const dockerfile = ['FROM scratch', ...lines(copies, (n) => `COPY ${pattern} ${start}0 /to${n}/`), ''].join('\n')
    const ends = await withstand(
      { name: `builds of COPY patterns with ${steps}`, bystander, growthMiB: 192 },
      async () => {
        const found: (number | string)[] = []
        for (let round = 0; round < rounds; round += 1) {
          const started = await ask('build', { name: 'slow', dockerfile, context_id })
          if (started.status !== 202) return [told(started)]
          const { build_id } = JSON.parse(started.text) as { build_id: string }
          found.push(await endOf(build_id))
        }
        return found
      },
    )
    expect(new Set(ends)).toEqual(new Set([end]))
  },
  rounds * endMs + 150_000,
)

function ask(what: 'check' | 'build', json: object): Promise<Answer> {
  return call('POST', `${path}/${what}`, { json, key: attacker.key, timeoutMs: endMs })
}

/** Returns the status of an answer, or the code of its error. `internal` is none. */
function told(answer: Answer): number | string {
  return answer.status < 400 ? answer.status : anyFailure(answer).code
}

/** Waits until a build is over and returns its state. Stops a build that takes too long. */
async function endOf(buildId: string): Promise<string> {
  const late = performance.now() + endMs
  for (;;) {
    const answer = await call('GET', `${path}/build/${buildId}`, { key: attacker.key, timeoutMs: endMs })
    const { status } = JSON.parse(answer.text) as { status: string }
    if (['ready', 'failed', 'cancelled'].includes(status)) return status
    if (performance.now() > late) {
      await call('DELETE', `${path}/build/${buildId}`, { key: attacker.key, timeoutMs: endMs })
      throw new Error(`the build was ${status} after ${endMs} ms`)
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}
