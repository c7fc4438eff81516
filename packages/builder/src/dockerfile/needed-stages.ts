import type { CopySource, Instruction, Stage, StageBase } from './plan.ts'

/** A cycle of stages: a stage that needs itself, directly or through others. */
export interface Circle {
  readonly type: 'circle'
  /** The line that closes the cycle. */
  readonly line: number
  readonly stage: string
}

/** Returns the stages that a target needs, each after those that it needs. */
export function neededStages(stages: readonly Stage[], target: number): readonly Stage[] | Circle {
  const done = new Set<number>()
  const open = new Set<number>()
  const order: Stage[] = []
  const visit = (index: number): Circle | null => {
    const stage = stages[index]
    if (stage === undefined || done.has(index)) return null
    open.add(index)
    for (const { needed, line } of needsOf(stage)) {
      const circle: Circle | null = open.has(needed)
        ? { type: 'circle', line, stage: stageName(stages[needed]) }
        : visit(needed)
      if (circle !== null) return circle
    }
    open.delete(index)
    done.add(index)
    order.push(stage)
    return null
  }
  return visit(target) ?? order
}

/** Returns the name of a stage for people. */
export function stageName(stage: Stage | undefined): string {
  return stage?.name ?? String(stage?.index ?? '')
}

/**
 * Returns the stage that a target names by name or number, and the last stage for no target.
 * Returns null if there is none.
 */
export function findTarget(stages: readonly Stage[], target: string | null): number | null {
  if (target === null) return stages.length - 1
  const byName = stages.findLastIndex(({ name }) => name === target.toLowerCase())
  if (byName !== -1) return byName
  const number = /^\d{1,9}$/.test(target) ? Number(target) : Number.POSITIVE_INFINITY
  return number < stages.length ? number : null
}

/** Returns the bases of stages and all sources of files in their instructions. */
export function sourcesOf(stages: readonly Stage[]): (StageBase | CopySource)[] {
  return stages.flatMap((stage) => [stage.base, ...stage.instructions.flatMap(copySources)])
}

function needsOf(stage: Stage): { needed: number; line: number }[] {
  const base = stage.base.type === 'stage' ? [{ needed: stage.base.index, line: stage.line }] : []
  const copied = stage.instructions.flatMap((instruction) =>
    copySources(instruction).flatMap((source) =>
      source.type === 'stage' ? [{ needed: source.index, line: instruction.line }] : [],
    ),
  )
  return [...base, ...copied]
}

function copySources(instruction: Instruction): CopySource[] {
  if (instruction.type === 'copy') return [instruction.from]
  if (instruction.type !== 'run') return []
  return instruction.mounts.flatMap((mount) => ('from' in mount && mount.from !== null ? [mount.from] : []))
}
