import { readdir } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { Fleet } from '../../../e2e/support/fleet/start-fleet.ts'
import { until } from '../../../e2e/support/until.ts'
import { ask } from '../../../packages/server/test/support/postgres-cluster.ts'

/** The time in which hosts upload what rows promise, on a slow machine, in milliseconds. */
const uploadMs = 120_000

/** The ids of artifacts that the object store must have: no host has the runtime or snapshot. */
const promised = `
  SELECT pause_checkpoint_id AS id FROM runtimes WHERE state = 'paused' AND host_id IS NULL
  UNION SELECT image_digest FROM runtimes WHERE state = 'paused' AND host_id IS NULL
  UNION SELECT checkpoint_id FROM snapshots WHERE state = 'ready'
  UNION SELECT image_digest FROM snapshots WHERE state = 'ready'`

/**
 * Checks that the object store has all that rows promise: each artifact that is `stored`, and those
 * of paused runtimes without a host and of ready snapshots. Returns the number of artifacts.
 */
export async function checkObjects({ cluster, objects }: Fleet): Promise<number> {
  const url = cluster.url('holt')
  let count = 0
  let missing: readonly string[] = []
  const isComplete = async () => {
    // The rows first: objects are there before a row says so.
    const rows = await ask(url, `SELECT artifact_id AS id FROM artifacts WHERE state = 'stored'`)
    const wanted = new Set([...rows, ...(await ask(url, promised))].flatMap(({ id }) => (id === null ? [] : [id])))
    const there = await artifactsIn(objects.directory)
    count = wanted.size
    missing = [...wanted].filter((id) => !there.has(id))
    return missing.length === 0
  }
  await until('the object store has everything', isComplete, uploadMs).catch((cause: unknown) => {
    throw new Error(`the object store lacks ${missing.join(', ')}`, { cause })
  })
  return count
}

/** Returns the ids of the artifacts with a manifest below a directory. */
async function artifactsIn(directory: string): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.name.startsWith('manifest.')) continue
    const parts = relative(directory, join(entry.parentPath, entry.name)).split('/')
    const id = dirname(
      parts.slice(parts.findIndex((part) => part === 'images' || part === 'checkpoints') + 1).join('/'),
    )
    ids.add(id.replace('/', ':'))
  }
  return ids
}
