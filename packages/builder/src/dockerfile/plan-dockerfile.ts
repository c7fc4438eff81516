import type { CheckedLine, DockerfileCheck, Ignored } from '@holt/protocol'
import { BuildError } from '../errors.ts'
import { hostPlatform, type Platform } from '../image/platform.ts'
import { shown } from './line-error.ts'
import { findTarget, neededStages, sourcesOf, stageName } from './needed-stages.ts'
import type { BuildPlan, Stage } from './plan.ts'
import { type Reading, readDockerfile } from './read-dockerfile.ts'
import type { WordAccount } from './word-account.ts'

/** Options for planning a Dockerfile. */
export interface PlanOptions {
  /** The stage to stop at. Null: the last one. */
  readonly target?: string | null | undefined
  readonly buildArgs?: Readonly<Record<string, string>> | undefined
  /** The platform of the build. Default: that of this machine. */
  readonly platform?: Platform | undefined
  /** The account for the words of the file. Default: a new one. */
  readonly account?: WordAccount | undefined
}

/**
 * Reads a Dockerfile into the steps that a build runs. Throws `BuildError` `dockerfile_invalid` if
 * a line is wrong, and `unsupported_setting` if all lines are right and some are not supported.
 * `details.lines` lists every refused line.
 */
export function planDockerfile(text: string, options: PlanOptions = {}): BuildPlan {
  const { reading, stages, problem } = study(text, options)
  if (reading.refused.size > 0) throw refusal(reading)
  if (problem !== null) throw new BuildError('dockerfile_invalid', problem.message, problem.options)
  return {
    stages,
    ignored: ignoredOf(reading, stages),
    warnings: reading.warnings,
    lines: reading.lines,
    globalArgs: reading.globalArgs,
    escape: reading.escapeChar,
    spent: reading.spent,
  }
}

/** Returns the effect of each instruction in a build. Never throws, regardless of the text. */
export function checkDockerfile(text: string, options: PlanOptions = {}): DockerfileCheck {
  const { reading, stages, problem } = study(text, options)
  const { unusedArgs } = reading
  const sources = sourcesOf(stages)
  const referencesOf = (type: 'image' | 'template') => [
    ...new Set(sources.flatMap((source) => (source.type === type && 'reference' in source ? [source.reference] : []))),
  ]
  const problemLine = reading.lines.find(({ line }) => line === problem?.line)
  return {
    ok: reading.refused.size === 0 && problem === null,
    lines: reading.lines.map((line) =>
      problem !== null && line === problemLine
        ? { ...line, verdict: 'refused', reason: problem.message, fix: problem.options.hint ?? null }
        : line,
    ),
    warnings: [
      ...(problem !== null && problemLine === undefined ? [problem.message] : []),
      ...reading.warnings,
      ...(unusedArgs.length === 0 ? [] : [`No ARG declares these build arguments: ${shown(unusedArgs.join(', '))}.`]),
    ],
    images: referencesOf('image'),
    templates: referencesOf('template'),
  }
}

/** A fault of the stages as a whole. */
interface Problem {
  readonly message: string
  readonly line: number | null
  readonly options: { readonly hint?: string; readonly details: Readonly<Record<string, unknown>> }
}

interface Study {
  readonly reading: Reading
  /** The stages that the target needs, or all stages if that cannot be determined. */
  readonly stages: readonly Stage[]
  readonly problem: Problem | null
}

function study(
  text: string,
  { target = null, buildArgs = {}, platform = hostPlatform(), account }: PlanOptions,
): Study {
  const reading = readDockerfile(text, { target, buildArgs, platform, account })
  if (reading.isPartial) return { reading, stages: reading.stages, problem: null }
  const number = findTarget(reading.stages, target)
  if (number === null) return { reading, stages: reading.stages, problem: noTarget(reading, target ?? '') }
  const order = neededStages(reading.stages, number)
  // A cycle is wrong also in stages that the target does not need.
  const circle = [order, ...reading.stages.map(({ index }) => neededStages(reading.stages, index))].find(
    (answer) => 'type' in answer,
  )
  if (circle === undefined || !('type' in circle)) {
    return { reading, stages: 'type' in order ? reading.stages : order, problem: null }
  }
  const message = `Line ${circle.line}: the stage ${circle.stage} needs itself.`
  return { reading, stages: reading.stages, problem: { message, line: circle.line, options: { details: {} } } }
}

function noTarget(reading: Reading, target: string): Problem {
  const names = reading.stages.map(stageName)
  return {
    message: `There is no stage ${shown(target, 80)}.`,
    line: null,
    options: { hint: `The stages are ${shown(names.join(', '))}.`, details: { stages: names.slice(0, 50) } },
  }
}

function refusal({ lines, refused }: Reading): BuildError {
  const all = lines.filter((line) => refused.has(line))
  const invalid = all.filter((line) => refused.get(line) === 'invalid')
  const [first] = invalid.length > 0 ? invalid : all
  const others = all.length - 1
  const more = others === 0 ? '' : ` (${others} more ${others === 1 ? 'line is' : 'lines are'} refused.)`
  const message = `Line ${first?.line}: ${first?.reason}${more}`
  return new BuildError(invalid.length > 0 ? 'dockerfile_invalid' : 'unsupported_setting', message, {
    ...(typeof first?.fix === 'string' ? { hint: first.fix } : {}),
    details: { lines: all.slice(0, 100) },
  })
}

/** Returns the ignored lines of the stages that are built. */
function ignoredOf({ lines, stages: all }: Reading, stages: readonly Stage[]): Ignored[] {
  const built = new Set(stages.map(({ index }) => index))
  const stageOf = (line: CheckedLine) => all.findLastIndex((stage) => stage.line <= line.line)
  return lines
    .filter((line) => line.verdict === 'ignored' && built.has(stageOf(line)))
    .map(({ instruction, line, reason }) => ({ instruction, line, reason: reason ?? '' }))
}
