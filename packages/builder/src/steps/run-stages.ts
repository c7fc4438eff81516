import type { BuildSources } from './build-sources.ts'
import type { Files, ResolvedStep } from './resolved-step.ts'
import { baseOf, type StageNode } from './stage-node.ts'
import { type StageContext, StageRunner, type StageStart } from './stage-runner.ts'
import type { RestState } from './state.ts'

/** A stage with steps to run, or whose files are needed. */
interface NeededStage {
  readonly node: StageNode
  /** The last step with an existing state, or -1. */
  readonly found: number
  /** The state to continue from, or null to continue from the stage that it is built on. */
  readonly state: RestState | null
}

/** The tools for running stages. */
export interface StagesContext extends StageContext {
  readonly sources: BuildSources
}

/**
 * Runs the remaining steps for the target's files, one stage after another. `finish` gets the
 * target's stage at its end. Afterwards only the cache has anything left of the stages.
 */
export async function runStages<T>(
  nodes: ReadonlyMap<number, StageNode>,
  context: StagesContext,
  finish: (target: StageRunner) => Promise<T>,
): Promise<T> {
  const target = [...nodes.values()].at(-1)
  if (target === undefined) throw new Error('a plan has stages')
  const needed = new Map<StageNode, NeededStage>()
  await need(target, { nodes, context, needed })
  await using owned = new AsyncDisposableStack()
  const runners = new Map<StageNode, StageRunner>()
  context.sources.stageRuntime = async (node) => runnerOf(runners, node).runtime()
  for (const node of nodes.values()) {
    const stage = needed.get(node)
    if (stage === undefined) {
      markCached(node, context)
      continue
    }
    if (node.base.type === 'stage') context.steps.cached(node.fromStep)
    const runner = owned.use(new StageRunner(node, await startOf(stage, { target, runners }), context))
    runners.set(node, runner)
    await runner.run()
    if (node !== target) await runner.rest()
    await context.sources.letGo()
    await releaseUnneeded(node, { nodes, runners, needed })
  }
  return await finish(runnerOf(runners, target))
}

interface Needs {
  readonly nodes: ReadonlyMap<number, StageNode>
  readonly context: StagesContext
  readonly needed: Map<StageNode, NeededStage>
}

/** Finds the last existing state of a stage, and the stages that the steps after it need. */
async function need(node: StageNode, { nodes, context, needed }: Needs): Promise<void> {
  if (needed.has(node)) return
  const start = await findStart(node, context)
  needed.set(node, { node, ...start })
  if (start.state === null && node.base.type === 'stage') await need(node.base.node, { nodes, context, needed })
  for (const step of node.steps.slice(start.found + 1))
    for (const index of stagesOf(step)) await need(nodeAt(nodes, index), { nodes, context, needed })
}

async function findStart(
  { steps, base }: StageNode,
  { cache }: StagesContext,
): Promise<{ readonly found: number; readonly state: RestState | null }> {
  let last: string | null = null
  for (const [index, { key }] of [...steps.entries()].reverse()) {
    // A step that only changes settings has the key of the step before.
    const state = key === last ? null : await cache.find(key)
    if (state !== null) return { found: index, state }
    last = key
  }
  return { found: -1, state: base.type === 'stage' ? null : baseOf(base) }
}

/** Returns the stages whose files a step reads. */
function stagesOf({ work }: ResolvedStep): readonly number[] {
  const files: (Files | null)[] = work?.type === 'copy' ? [...work.parts] : []
  if (work?.type === 'run') for (const mount of work.mounts) if ('files' in mount) files.push(mount.files)
  return files.flatMap((each) => (each?.type === 'runtime' && each.from.type === 'stage' ? [each.from.index] : []))
}

async function startOf(
  { node, found, state }: NeededStage,
  { target, runners }: { readonly target: StageNode; readonly runners: ReadonlyMap<StageNode, StageRunner> },
): Promise<StageStart> {
  const isTarget = isBelow(target, node)
  if (state !== null) return { found, state, key: node.steps[found]?.key ?? null, isTarget }
  if (node.base.type !== 'stage') throw new Error('a stage has a base')
  return { found, state: await runnerOf(runners, node.base.node).rest(), key: node.base.node.key, isTarget }
}

/** Returns true if a stage is the target, or the target is built on it. */
function isBelow(target: StageNode, node: StageNode): boolean {
  return target === node || (target.base.type === 'stage' && isBelow(target.base.node, node))
}

/** Removes the runtimes of stages that nothing after `done` needs. */
async function releaseUnneeded(
  done: StageNode,
  {
    nodes,
    runners,
    needed,
  }: {
    readonly nodes: ReadonlyMap<number, StageNode>
    readonly runners: ReadonlyMap<StageNode, StageRunner>
    readonly needed: ReadonlyMap<StageNode, NeededStage>
  },
): Promise<void> {
  const order = [...nodes.values()]
  const later = new Set(
    order.slice(order.indexOf(done) + 1).flatMap((node) => {
      const stage = needed.get(node)
      if (stage === undefined) return []
      const read = node.steps.slice(stage.found + 1).flatMap(stagesOf)
      const base = stage.state === null && node.base.type === 'stage' ? [node.base.node] : []
      return [...read.map((index) => nodeAt(nodes, index)), ...base]
    }),
  )
  const last = order.at(-1)
  for (const [node, runner] of runners) if (node !== last && !later.has(node)) await runner[Symbol.asyncDispose]()
}

function markCached(node: StageNode, { steps }: StagesContext): void {
  if (node.base.type === 'stage') steps.cached(node.fromStep)
  for (const { number } of node.steps) steps.cached(number)
}

function nodeAt(nodes: ReadonlyMap<number, StageNode>, index: number): StageNode {
  const node = nodes.get(index)
  if (node === undefined) throw new Error(`there is no stage ${index}`)
  return node
}

function runnerOf(runners: ReadonlyMap<StageNode, StageRunner>, node: StageNode): StageRunner {
  const runner = runners.get(node)
  if (runner === undefined) throw new Error(`stage ${node.stage.index} has not run`)
  return runner
}
