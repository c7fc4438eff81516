import { expect, test } from 'vitest'
import type { Context } from '../../src/context/open-context.ts'
import { SearchAccount } from '../../src/context/search-account.ts'
import { packSelection } from '../../src/context/selection.ts'
import { planDockerfile } from '../../src/dockerfile/plan-dockerfile.ts'
import { resolveCopy } from '../../src/steps/resolve-copy.ts'
import { BuildArgs, StageScope } from '../../src/steps/stage-scope.ts'
import type { StepContext } from '../../src/steps/step-context.ts'

/**
 * Resolves a COPY or an ADD. `matches` are the paths of the context that each source stands for.
 */
function resolve(line: string, matches: (source: string) => readonly string[]) {
  const plan = planDockerfile(`FROM scratch\n${line}`, { buildArgs: {} })
  const [instruction] = plan.stages[0]?.instructions ?? []
  if (instruction?.type !== 'copy') throw new Error('COPY and ADD are copies')
  const account = new SearchAccount()
  const context: Context = {
    sha256: 'none',
    select: ([source = '']) => {
      const files = matches(source).map((path) => ({ path, type: 'file' as const }))
      const chosen = { kind: 'tree', matches: files, nodes: new Map() } as const
      return account.finish(packSelection(chosen, async function* () {}, account))
    },
  }
  const settings = { env: {}, user: '', workdir: '/', shell: [], labels: {}, ports: [], onBuild: [] }
  const args = new BuildArgs({}, plan)
  const stepContext = {
    scope: new StageScope({ settings, args: new Map() }, args, plan.escape),
    args,
    sources: { context: () => context },
    policyKey: '',
    secrets: new Set<string>(),
  } as unknown as StepContext
  return resolveCopy(instruction, stepContext)
}

test('ADD accepts as many single files as a context can have', async () => {
  const all = Array.from({ length: 250_000 }, (_, index) => `${index}`)
  const { work } = await resolve('ADD * /all/', (source) => (source === '*' ? all : []))
  expect(work.parts).toHaveLength(all.length)
})

test.each([
  ['another destination', 'COPY a /b'],
  ['another --chown', 'COPY --chown=1:2 a /a'],
  ['another --chmod', 'COPY --chmod=600 a /a'],
  ['--parents', 'COPY --parents a /a'],
  ['a command that unpacks', 'ADD a /a'],
  ['a text of the Dockerfile', 'COPY <<end /a\ntext\nend'],
])('the key of a copy with %s is another one', async (_, line) => {
  const keyOf = async (each: string) => JSON.stringify((await resolve(each, (source) => [source])).key)
  const plain = await keyOf('COPY a /a')
  expect(await keyOf('COPY a /a')).toBe(plain)
  expect(await keyOf(line)).not.toBe(plain)
})
