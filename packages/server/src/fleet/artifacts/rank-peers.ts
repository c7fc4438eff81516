import type { ArtifactRef } from '@holt/engine'
import { rankHosts } from '@holt/placement'

/** The homes of an artifact that are asked for it. */
const homesAsked = 3

/**
 * Returns the hosts to ask for an artifact: its first three homes, then the host near it. `hostIds`
 * are the other hosts that answer.
 */
export function rankPeers(ref: ArtifactRef, near: string | null, hostIds: readonly string[]): readonly string[] {
  const homes = rankHosts(ref.id, hostIds).slice(0, homesAsked)
  const isMore = near !== null && hostIds.includes(near) && !homes.includes(near)
  return isMore ? [...homes, near] : homes
}
