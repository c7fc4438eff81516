import type { BuildHost, BuildRequest } from '../contract/build-contract.ts'
import { quoteWord } from '../dockerfile/expand-word.ts'
import type { BuildPlan, Instruction, Stage } from '../dockerfile/plan.ts'
import { requireFewSteps } from '../dockerfile/plan-limits.ts'
import { planSteps } from './plan-steps.ts'

/**
 * Returns the plan of a request. The request's own working directory is one more step, so that it
 * exists.
 */
export async function makePlan(request: BuildRequest, host: PlanHost, signal: AbortSignal): Promise<BuildPlan> {
  const plan = await readSource(request, host, signal)
  requireFewSteps(plan)
  const more = settingsOf(request, plan)
  return more.length === 0
    ? plan
    : {
        ...plan,
        stages: plan.stages.map((stage, index) => (index === plan.stages.length - 1 ? extended(stage, more) : stage)),
      }
}

/** The part of the host that reads the Dockerfile. */
type PlanHost = Pick<BuildHost, 'planDockerfile'>

async function readSource(
  { source, buildArgs }: BuildRequest,
  host: PlanHost,
  signal: AbortSignal,
): Promise<BuildPlan> {
  if (source.type === 'dockerfile')
    return host.planDockerfile(source.text, { target: source.target, buildArgs }, signal)
  return planSteps({ type: source.type, reference: source.reference }, source.steps)
}

function extended(stage: Stage, more: readonly Instruction[]): Stage {
  return { ...stage, instructions: [...stage.instructions, ...more] }
}

/** Returns `user` and `workdir` of the request as the last steps. */
function settingsOf({ user, workdir }: BuildRequest, { escape: quote }: BuildPlan): readonly Instruction[] {
  const more: Instruction[] = []
  if (user !== null) more.push({ type: 'user', user: quoteWord(user, quote), line: 0, text: `USER ${user}` })
  if (workdir !== null)
    more.push({ type: 'workdir', path: quoteWord(workdir, quote), line: 0, text: `WORKDIR ${workdir}` })
  return more
}
