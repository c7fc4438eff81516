import { expect, test } from 'vitest'
import type { Context } from '../../src/context/open-context.ts'
import { SearchAccount } from '../../src/context/search-account.ts'
import { packSelection } from '../../src/context/selection.ts'
import { planDockerfile } from '../../src/dockerfile/plan-dockerfile.ts'
import { resolveCopy } from '../../src/steps/resolve-copy.ts'
import { BuildArgs, StageScope } from '../../src/steps/stage-scope.ts'
import type { Surroundings } from '../../src/steps/surroundings.ts'

test('ADD accepts as many single files as a context can have', async () => {
  const plan = planDockerfile('FROM scratch\nADD * /all/', { buildArgs: {} })
  const [instruction] = plan.stages[0]?.instructions ?? []
  if (instruction?.type !== 'copy') throw new Error('ADD is a copy')
  const matches = Array.from({ length: 250_000 }, (_, index) => ({ path: `${index}`, type: 'file' as const }))
  const account = new SearchAccount()
  const context: Context = {
    sha256: 'none',
    select: ([source]) => {
      const chosen = { kind: 'tree', matches: source === '*' ? matches : [], nodes: new Map() } as const
      return account.finish(packSelection(chosen, async function* () {}, account))
    },
  }
  const settings = { env: {}, user: '', workdir: '/', shell: [], labels: {}, ports: [], onBuild: [] }
  const args = new BuildArgs({}, plan)
  const around = {
    scope: new StageScope({ settings, args: new Map() }, args, plan.escape),
    args,
    sources: { context: () => context },
    policyKey: '',
    secrets: new Set<string>(),
  } as unknown as Surroundings
  expect((await resolveCopy(instruction, around)).work.parts).toHaveLength(matches.length)
})
