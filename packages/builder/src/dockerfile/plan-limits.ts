import { BuildError } from '../errors.ts'
import type { BuildPlan, Instruction } from './plan.ts'

/** The maximum number of stages and of steps. No handwritten Dockerfile has more. */
const MAX_STAGES = 100
const MAX_INSTRUCTIONS = 2_000

/**
 * The maximum number of names, values, paths and arguments of a Dockerfile's instructions. Each is
 * an object, and all arrive from another thread at once.
 */
const MAX_WORDS = 50_000

/**
 * Throws `BuildError` `dockerfile_invalid` if a plan has more stages or steps than a build may
 * have.
 */
export function requireFewSteps(plan: BuildPlan): void {
  const count = plan.stages.reduce((sum, { instructions }) => sum + instructions.length, 0)
  if (plan.stages.length <= MAX_STAGES && count <= MAX_INSTRUCTIONS) return
  throw new BuildError('dockerfile_invalid', `A build has at most ${MAX_STAGES} stages and ${MAX_INSTRUCTIONS} steps.`)
}

/**
 * Throws `BuildError` `dockerfile_invalid` if a Dockerfile has more words than one thread may hand
 * to another.
 */
export function requireFewWords(plan: BuildPlan): void {
  let words = 0
  for (const { instructions } of plan.stages) {
    for (const instruction of instructions) {
      words += wordsIn(instruction)
      if (words > MAX_WORDS)
        throw new BuildError(
          'dockerfile_invalid',
          `Line ${instruction.line}: the instructions have more than ${MAX_WORDS} names, values, paths and arguments together.`,
          { hint: 'Name directories or patterns in place of many files, and read many values from a file.' },
        )
    }
  }
}

function wordsIn(instruction: Instruction): number {
  switch (instruction.type) {
    case 'run':
      return instruction.mounts.length + (instruction.form.type === 'exec' ? instruction.form.argv.length : 1)
    case 'copy':
      return instruction.sources.length + instruction.exclude.length + instruction.heredocs.length
    case 'env':
    case 'label':
      return instruction.pairs.length
    case 'arg':
      return instruction.args.length
    case 'expose':
      return instruction.ports.length
    case 'shell':
      return instruction.shell.length
    default:
      return 1
  }
}
