import { expect } from 'vitest'
import { type Answer, call } from './api.ts'

/** The path of the snapshots. */
export const snapshotsPath = '/v1/agents/snapshot'

/** Calls a route of one snapshot, by name or id. */
export function callSnapshot(method: string, snapshot: string): Promise<Answer> {
  return call(method, `${snapshotsPath}/${snapshot}`)
}

/** Deletes snapshots. */
export async function deleteSnapshots(...snapshots: readonly string[]): Promise<void> {
  for (const snapshot of snapshots) {
    const { status, text } = await callSnapshot('DELETE', snapshot)
    expect(status, text).toBe(204)
  }
}
