import type { BuildPlan, Mount } from '../dockerfile/plan.ts'

/** Returns true if any step takes files of the uploaded context. */
export function readsContext({ stages }: BuildPlan): boolean {
  return stages.some(({ instructions }) =>
    instructions.some((instruction) => {
      if (instruction.type === 'copy') return instruction.from.type === 'context' && instruction.sources.length > 0
      return instruction.type === 'run' && instruction.mounts.some(isOfContext)
    }),
  )
}

function isOfContext(mount: Mount): boolean {
  return (mount.type === 'bind' || mount.type === 'cache') && mount.from?.type === 'context'
}

/** Returns the warnings about mounts in memory that have a size. */
export function sizedMounts({ stages }: BuildPlan): readonly string[] {
  return stages.flatMap(({ instructions }) =>
    instructions.flatMap((instruction) =>
      instruction.type === 'run' &&
      instruction.mounts.some((mount) => mount.type === 'tmpfs' && mount.sizeBytes !== null)
        ? [`Line ${instruction.line}: the size of a tmpfs mount has no effect. The disk of the build is the limit.`]
        : [],
    ),
  )
}
