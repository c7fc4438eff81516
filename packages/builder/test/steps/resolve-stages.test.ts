import { longestPieceMs, longestPieceOf } from '@holt/testkit'
import { expect, test } from 'vitest'
import { emptyContext } from '../../src/context/open-context.ts'
import { planDockerfile } from '../../src/dockerfile/plan-dockerfile.ts'
import { type FoundBase, resolveStages, type StageSteps } from '../../src/steps/resolve-stages.ts'
import type { StageNode } from '../../src/steps/stage-node.ts'
import { BuildArgs } from '../../src/steps/stage-scope.ts'
import type { StepContext } from '../../src/steps/step-context.ts'

const settings = { env: {}, user: '', workdir: '/', shell: [], labels: {}, ports: [], onBuild: [] }
const image = { type: 'image', imageDigest: `sha256:${'0'.repeat(64)}`, sizeBytes: 0, source: '', kept: {} } as const

/** Resolves the steps of a Dockerfile, as a build does before it runs anything. */
function resolve(text: string): Promise<StageNode> {
  const plan = planDockerfile(text)
  const args = new BuildArgs({}, plan)
  const bases = new Map(plan.stages.map(({ index }) => [index, { image, settings, fetched: false } as FoundBase]))
  const listed = new Map<number, StageSteps>(
    plan.stages.map(({ index, instructions }) => [
      index,
      { from: 1, instructions: instructions.map((_, at) => at + 2) },
    ]),
  )
  const context = emptyContext()
  const stepContext = {
    args,
    sources: { context: () => context },
    policyKey: '',
    secrets: new Set(),
  } as unknown as Omit<StepContext, 'scope'>
  return resolveStages(plan, { bases, listed, stepContext, args, stateOf: null }, new Map())
}

const lines = (count: number, line: (index: number) => string) => Array.from({ length: count }, (_, at) => line(at))
const long = (length: number) => `ARG X=${'a'.repeat(length)}`

test.each([
  [
    'patterns of stars',
    [long(200_000), ...lines(20, (at) => `ARG Y${at}=\${X//*a*a*b/z}`)],
    /^Line \d+: .* steps of pattern/,
  ],
  [
    'a long value 450 times',
    [long(500_000), ...lines(450, (at) => `ARG Y${at}=\${X//b/c}`)],
    /^Line \d+: .* same time/,
  ],
  [
    'long environments of commands',
    [long(100_000), ...lines(1500, () => 'RUN true')],
    /^Line \d+: .* characters together/,
  ],
  [
    'many small variables for many commands',
    [
      ...lines(7, (line) => `ARG ${lines(1000, (at) => `A${line}_${at}=`).join(' ')}`),
      ...lines(1900, () => 'RUN true'),
    ],
    /^Line \d+: .* characters together/,
  ],
  ['ports by the million', [`ARG P="${'1-1000 '.repeat(100_000)}"`, 'EXPOSE $P'], /^Line 3: .* characters together/],
])('%s end a build at their line, and other work continues meanwhile', { timeout: 60_000 }, async (_, text, why) => {
  const file = ['FROM scratch', ...text].join('\n')
  let failure: unknown = null
  const longest = await longestPieceOf(async () => {
    await resolve(file).catch((error: unknown) => {
      failure = error
    })
  })
  expect(failure).toMatchObject({
    code: 'dockerfile_invalid',
    message: expect.stringMatching(why),
    hint: expect.any(String),
    step: expect.any(Number),
  })
  expect(longest).toBeLessThan(longestPieceMs)
})

test('many ordinary steps are resolved, and other work continues meanwhile', { timeout: 60_000 }, async () => {
  const file = [
    'FROM scratch',
    ...lines(50, (at) => `ENV NAME${at}=${'v'.repeat(60)}`),
    ...lines(1900, (at) => `RUN echo ${at}`),
  ]
  let steps = 0
  const longest = await longestPieceOf(async () => {
    steps = (await resolve(file.join('\n'))).steps.length
  })
  expect(steps).toBe(1950)
  expect(longest).toBeLessThan(longestPieceMs)
})
