import { quoteWord } from '../dockerfile/expand-word.ts'
import type { BuildPlan, Instruction, Stage } from '../dockerfile/plan.ts'
import { planDockerfile } from '../dockerfile/plan-dockerfile.ts'
import { planSteps } from '../dockerfile/plan-steps.ts'
import { BuildError, type BuildRequest } from './contract.ts'

/** More is no Dockerfile that somebody wrote. */
const MAX_STAGES = 100
const MAX_INSTRUCTIONS = 2_000

/** What a request asks to be run. A working directory of the request's own is one more step, so that it is there. */
export function makePlan(request: BuildRequest): BuildPlan {
  const plan = readSource(request)
  const count = plan.stages.reduce((sum, { instructions }) => sum + instructions.length, 0)
  if (plan.stages.length > MAX_STAGES || count > MAX_INSTRUCTIONS)
    throw new BuildError(
      'dockerfile_invalid',
      `A build has at most ${MAX_STAGES} stages and ${MAX_INSTRUCTIONS} steps.`,
    )
  const more = settingsOf(request, plan)
  return more.length === 0
    ? plan
    : {
        ...plan,
        stages: plan.stages.map((stage, index) => (index === plan.stages.length - 1 ? extended(stage, more) : stage)),
      }
}

function readSource({ source, buildArgs }: BuildRequest): BuildPlan {
  if (source.type === 'dockerfile') return planDockerfile(source.text, { target: source.target, buildArgs })
  return planSteps({ type: source.type, reference: source.reference }, source.steps)
}

function extended(stage: Stage, more: readonly Instruction[]): Stage {
  return { ...stage, instructions: [...stage.instructions, ...more] }
}

/** `user` and `workdir` of the request, as the last steps. */
function settingsOf({ user, workdir }: BuildRequest, { escape: quote }: BuildPlan): readonly Instruction[] {
  const more: Instruction[] = []
  if (user !== null) more.push({ type: 'user', user: quoteWord(user, quote), line: 0, text: `USER ${user}` })
  if (workdir !== null)
    more.push({ type: 'workdir', path: quoteWord(workdir, quote), line: 0, text: `WORKDIR ${workdir}` })
  return more
}
