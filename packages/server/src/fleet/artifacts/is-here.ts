import type { ArtifactRef, Engine } from '@holt/engine'

/** Returns true if an artifact is on this host, also a checkpoint that cannot be restored here. */
export async function isHere(engine: Pick<Engine, 'ability'>, ref: ArtifactRef): Promise<boolean> {
  if (ref.kind === 'image') return (await engine.ability('images')?.has(ref.id)) === true
  const found = await engine.ability('checkpoints')?.usable(ref.id, { restoreOnly: true, skipFiles: true })
  return found !== undefined && (found.usable || found.problem !== 'absent')
}
