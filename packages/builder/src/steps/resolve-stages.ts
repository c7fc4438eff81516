import type { BuildHost, BuildSettings, PullOptions } from '../contract/build-contract.ts'
import type { BuildPlan, Instruction, Stage } from '../dockerfile/plan.ts'
import { BuildError } from '../errors.ts'
import { splitEnv } from '../image/platform-keys.ts'
import { Pace } from '../pace.ts'
import { cacheKey } from './cache-key.ts'

import { resolveStep } from './resolve-step.ts'
import type { ResolvedStep } from './resolved-step.ts'
import { scratchImage } from './scratch-image.ts'
import type { BaseImage, StageNode } from './stage-node.ts'
import { type BuildArgs, StageScope } from './stage-scope.ts'
import type { StepContext } from './step-context.ts'
import { explainFailure } from './step-failure.ts'
import type { StepList } from './step-list.ts'

/** The steps of a stage in the list of steps. */
export interface StageSteps {
  readonly from: number
  readonly instructions: readonly number[]
}

/** A base, and the settings that steps on top of it start with. */
export interface FoundBase {
  readonly image: BaseImage
  readonly settings: BuildSettings
  /** True if something had to be fetched. */
  readonly fetched: boolean
}

/** Adds every step of a plan to the list of steps, in the order in which they run. */
export function listSteps(plan: BuildPlan, steps: StepList): ReadonlyMap<number, StageSteps> {
  return new Map(
    plan.stages.map((stage) => {
      const name = plan.stages.length > 1 ? (stage.name ?? String(stage.index)) : stage.name
      // Steps that the request adds have no line.
      const add = (text: string, line: number) => steps.add({ text, stage: name, line: line === 0 ? null : line })
      const from = add(`FROM ${baseText(stage, plan)}`, stage.line)
      return [stage.index, { from, instructions: stage.instructions.map(({ text, line }) => add(text, line)) }]
    }),
  )
}

/** Finds the bases of all stages, and fetches the missing ones. */
export async function findBases(
  plan: BuildPlan,
  host: BuildHost,
  {
    steps,
    listed,
    pull,
  }: { readonly steps: StepList; readonly listed: ReadonlyMap<number, StageSteps>; readonly pull: PullOptions },
): Promise<ReadonlyMap<number, FoundBase>> {
  const bases = new Map<number, FoundBase>()
  for (const stage of plan.stages) {
    const number = listed.get(stage.index)?.from ?? 0
    if (stage.base.type === 'stage') continue
    steps.start(number)
    try {
      const base = await findBase(stage.base, host, pull)
      bases.set(stage.index, base)
      if (base.fetched) steps.done(number)
      else steps.cached(number)
    } catch (error) {
      pull.signal.throwIfAborted()
      throw await explainFailure(error, {
        number,
        text: stageText(stage),
        runtime: null,
        disk: { diskMiB: 0, baseBytes: 0 },
      })
    }
  }
  return bases
}

async function findBase(
  base: Exclude<Stage['base'], { type: 'stage' }>,
  host: BuildHost,
  pull: PullOptions,
): Promise<FoundBase> {
  if (base.type === 'scratch') {
    const image = await scratchImage(host, pull.signal)
    return { image: { type: 'image', ...image, source: 'scratch', kept: {} }, settings: emptySettings, fetched: false }
  }
  if (base.type === 'template' || base.type === 'snapshot') {
    const isTemplate = base.type === 'template'
    const found = isTemplate ? host.findTemplate(base.reference) : host.findSnapshot(base.reference)
    const { reference, imageDigest, settings, env } = await found
    const sizeBytes = await sizeOf(host, imageDigest)
    const image = { type: 'image', imageDigest, sizeBytes, source: reference, kept: splitEnv(env, 'platform') } as const
    return { image, settings, fetched: false }
  }
  let fetched = false
  const onProgress = (message: string) => {
    fetched = true
    pull.onProgress(message)
  }
  const resolved = await host.images.resolve(base.reference, { ...pull, onProgress })
  const { imageDigest, sizeBytes, pinned, settings } = await host.images.ensure(resolved, { ...pull, onProgress })
  return { image: { type: 'image', imageDigest, sizeBytes, source: pinned, kept: {} }, settings, fetched }
}

/** Resolves the steps of all stages, each after those that it needs. */
export async function resolveStages(
  plan: BuildPlan,
  {
    bases,
    listed,
    stepContext,
    args,
    stateOf,
  }: {
    readonly bases: ReadonlyMap<number, FoundBase>
    readonly listed: ReadonlyMap<number, StageSteps>
    readonly stepContext: Omit<StepContext, 'scope'>
    readonly args: BuildArgs
    /** The first part of a base's key: the place where its steps run. */
    readonly stateOf: unknown
  },
  nodes: Map<number, StageNode>,
): Promise<StageNode> {
  let last: StageNode | null = null
  const pace = new Pace()
  for (const stage of plan.stages) {
    const numbers = listed.get(stage.index)
    const parent = stage.base.type === 'stage' ? nodes.get(stage.base.index) : undefined
    const found = bases.get(stage.index)
    const settings = parent?.settings ?? found?.settings
    if (numbers === undefined || settings === undefined) throw new Error(`stage ${stage.index} has no base`)
    const base: StageNode['base'] | undefined = parent === undefined ? found?.image : { type: 'stage', node: parent }
    if (base === undefined) throw new Error(`stage ${stage.index} has no base`)
    const begin = base.type === 'stage' ? base.node.key : cacheKey(null, ['base', stateOf, base.imageDigest])
    const scope = new StageScope({ settings, args: parent?.args ?? new Map() }, args, plan.escape)
    const steps = await resolveSteps(
      stage.instructions,
      { numbers: numbers.instructions, begin, pace },
      { ...stepContext, scope },
    )
    const key = steps.at(-1)?.key ?? begin
    const { settings: ends, envLines } = scope
    last = { stage, fromStep: numbers.from, base, steps, key, settings: ends, envLines, args: scope.args }
    nodes.set(stage.index, last)
  }
  if (last === null) throw new Error('a plan has stages')
  return last
}

async function resolveSteps(
  instructions: readonly Instruction[],
  { numbers, begin, pace }: { readonly numbers: readonly number[]; readonly begin: string; readonly pace: Pace },
  stepContext: StepContext,
): Promise<ResolvedStep[]> {
  const steps: ResolvedStep[] = []
  for (const [index, instruction] of instructions.entries()) {
    const number = numbers[index] ?? 0
    const { text } = instruction
    await pace.restIfDue()
    try {
      steps.push(await resolveStep(instruction, { number, parentKey: steps.at(-1)?.key ?? begin }, stepContext))
    } catch (error) {
      throw await explainFailure(withLine(error, instruction, stepContext), {
        number,
        text,
        runtime: null,
        disk: { diskMiB: 0, baseBytes: 0 },
      })
    }
  }
  return steps
}

/**
 * Returns the error with the instruction's line, if this instruction exhausted the account of the
 * file.
 */
function withLine(error: unknown, { line }: Instruction, { args }: StepContext): unknown {
  if (!(error instanceof BuildError) || !args.account.isSpent || line === 0) return error
  const { code, message, hint, details, cause } = error
  return new BuildError(code, `Line ${line}: ${message}`, { details, cause, ...(hint === null ? {} : { hint }) })
}

const emptySettings: BuildSettings = { env: {}, user: '', workdir: '/', shell: [], labels: {}, ports: [], onBuild: [] }

async function sizeOf(host: BuildHost, digest: string): Promise<number> {
  const images = (await host.engine.ability('images')?.list()) ?? []
  return images.find((image) => image.digest === digest)?.sizeBytes ?? 0
}

function baseText({ base, name }: Stage, plan: BuildPlan): string {
  const as = name === null ? '' : ` AS ${name}`
  if (base.type === 'scratch') return `scratch${as}`
  if (base.type === 'template') return `holt/${base.reference}${as}`
  if (base.type === 'snapshot') return `the snapshot ${base.reference}${as}`
  if (base.type === 'image') return `${base.reference}${as}`
  const other = plan.stages.find(({ index }) => index === base.index)
  return `${other?.name ?? base.index}${as}`
}

function stageText({ base, index }: Stage): string {
  return 'reference' in base ? `FROM ${base.reference}` : `stage ${index}`
}
