import type { Instruction, RunInstruction } from '../dockerfile/plan.ts'
import { cacheKey } from './cache-key.ts'
import { resolveCopy } from './resolve-copy.ts'
import { resolveMounts } from './resolve-mounts.ts'
import type { ResolvedStep, RunWork, Work } from './resolved-step.ts'
import type { StepContext } from './step-context.ts'

/** The path of a script with an interpreter of its own, as in BuildKit. */
const SCRIPT_PATH = '/dev/pipes/EOF'

/**
 * Applies an instruction to the stage's scope. Returns the remaining work, and the key of the files
 * after it.
 */
export async function resolveStep(
  instruction: Instruction,
  { number, parentKey }: { readonly number: number; readonly parentKey: string },
  stepContext: StepContext,
): Promise<ResolvedStep> {
  const { text } = instruction
  if (stepContext.scope.follow(instruction)) return { number, text, key: parentKey, work: null }
  const { work, key } = await resolveWork(instruction, stepContext)
  return { number, text, key: cacheKey(parentKey, key), work }
}

/** Returns the work, and all inputs that its result depends on. */
async function resolveWork(
  instruction: Instruction,
  stepContext: StepContext,
): Promise<{ readonly work: Work; readonly key: unknown }> {
  const { scope } = stepContext
  switch (instruction.type) {
    case 'run':
      return resolveRun(instruction, stepContext)
    case 'copy':
      return resolveCopy(instruction, stepContext)
    case 'workdir': {
      const work = { type: 'workdir', path: scope.changeDirectory(instruction.path), user: scope.user } as const
      return { work, key: work }
    }
    default:
      throw new Error(`${instruction.type} is no work`)
  }
}

async function resolveRun(
  instruction: RunInstruction,
  stepContext: StepContext,
): Promise<{ readonly work: RunWork; readonly key: unknown }> {
  const { scope, args, policyKey } = stepContext
  const { mounts, variables, key } = await resolveMounts(instruction.mounts, stepContext)
  const env = scope.commandEnv
  const command = commandOf(instruction.form, scope.shell)
  const rest = { user: scope.user, workdir: scope.workdir, noNetwork: instruction.noNetwork }
  const proxies = Object.fromEntries(args.proxies)
  return {
    work: { type: 'run', ...command, ...rest, env: { ...proxies, ...env }, mounts, variables },
    key: ['run', command, rest, env, key, instruction.noNetwork ? null : policyKey],
  }
}

function commandOf(form: RunInstruction['form'], shell: readonly string[]): Pick<RunWork, 'argv' | 'script'> {
  if (form.type === 'exec') return { argv: form.argv, script: null }
  // As in execve(2), the line has a program and at most one word more. The script itself may be at
  // a path where nothing can be executed.
  const [, interpreter, word] =
    /^#![ \t]*([^ \t\n]+)[ \t]*([^\n]*)/.exec(form.type === 'heredoc' ? form.script : '') ?? []
  if (interpreter !== undefined) {
    const words = word === undefined || word.trim() === '' ? [] : [word.trim()]
    return { argv: [interpreter, ...words, SCRIPT_PATH], script: { path: SCRIPT_PATH, text: form.script } }
  }
  return { argv: [...shell, form.script], script: null }
}
