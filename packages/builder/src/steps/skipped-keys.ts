import type { Ignored } from '@holt/protocol'
import type { BuildRequest, BuildSettings } from '../contract/build-contract.ts'
import { expandWord } from '../dockerfile/expand-word.ts'
import type { BuildPlan, Stage } from '../dockerfile/plan.ts'
import { platformKeys } from '../image/platform-keys.ts'
import { rootOf, type StageNode } from './stage-node.ts'
import { DEFAULT_PATH } from './stage-scope.ts'

/**
 * The maximum number of reported lines. A file may have thousands, and a page of builds shows those
 * of each build.
 */
const maxSkipped = 200

type Request = Pick<BuildRequest, 'env'>

/** A variable that ENV sets, and its line. */
export interface EnvLine {
  readonly name: string
  readonly line: number
}

/**
 * Returns the platform keys that lines of the target and of the stages below it set. Names with
 * variables are omitted, because only the base image can resolve them.
 */
export function plannedKeys({ stages, escape: quote }: BuildPlan, request: Request): readonly Ignored[] {
  const target = stages.at(-1)
  const nameOf = (word: string) => (word.includes('$') ? '' : expandWord(word, () => undefined, { escapeChar: quote }))
  const lines = chainOf(target, stages).flatMap(({ instructions }) =>
    instructions.flatMap((instruction) =>
      instruction.type === 'env'
        ? instruction.pairs.map(({ name }) => ({ name: nameOf(name), line: instruction.line }))
        : [],
    ),
  )
  return ignoredLines(lines, request)
}

/**
 * Returns the platform keys that do not reach the template's runtimes: those of the base image, and
 * those of the lines on top of it.
 */
export function skippedKeys(target: StageNode, base: BuildSettings, request: Request): readonly Ignored[] {
  const { kept } = rootOf(target)
  const inherited = Object.entries(base.env)
    .filter(([name, value]) => platformKeys.has(name) && kept[name] !== value)
    // The default PATH of container engines is no value of the image.
    .filter(([name, value]) => !(name === 'PATH' && value === DEFAULT_PATH))
    .map(([name]) => toIgnored({ name, line: null }, request))
  return [...inherited, ...ignoredLines(linesOf(target), request)]
}

function linesOf({ base, envLines }: StageNode): readonly EnvLine[] {
  return base.type === 'stage' ? [...linesOf(base.node), ...envLines] : envLines
}

/** Returns the stages that a stage is built on, from the lowest to the stage itself. */
function chainOf(stage: Stage | undefined, stages: readonly Stage[]): readonly Stage[] {
  if (stage === undefined) return []
  const { base } = stage
  const below = base.type === 'stage' ? stages.find(({ index }) => index === base.index) : undefined
  return [...chainOf(below, stages), stage]
}

function ignoredLines(lines: readonly EnvLine[], request: Request): readonly Ignored[] {
  const skipped = new Map<string, EnvLine>()
  for (const each of lines) {
    if (skipped.size >= maxSkipped) break
    if (platformKeys.has(each.name)) skipped.set(`${each.line} ${each.name}`, each)
  }
  return [...skipped.values()].map((each) => toIgnored(each, request))
}

function toIgnored({ name, line }: { readonly name: string; readonly line: number | null }, { env }: Request): Ignored {
  const rule = `Runtimes have a ${name} of their own. The image's value applies only to the steps of the build.`
  const remedy = Object.hasOwn(env, name)
    ? `\`env\` of the build sets the ${name} of runtimes.`
    : `To set it for runtimes, give ${name} in \`env\` of the build.`
  return { instruction: `ENV ${name}`, line, reason: `${rule} ${remedy}` }
}
