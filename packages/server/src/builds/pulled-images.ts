import type { BuildSettings, PulledImageStore } from '@holt/builder'
import type { ImageDigest } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import { aloneWithRow } from '../foundation/store/alone.ts'
import { storedJson } from '../foundation/store/stored-json.ts'
import type { BuildUnderWay } from './build-under-way.ts'
import type { Builds } from './builds.ts'

/**
 * Returns the container images that the project of a build has pulled. An image that it uses is
 * held until the build ends.
 */
export function pulledImages({ store, holds, engine, now, thisHost }: Builds, build: BuildUnderWay): PulledImageStore {
  const { projectId, buildId } = build
  const { hostId } = thisHost
  return {
    get: async (key) => {
      const row = await store.change(aloneWithRow, async (changes) => {
        const found = await changes
          .updateTable('pulled_images')
          .set({ used_at: now() })
          .where('project_id', '=', projectId)
          .where('key', '=', key)
          .where('host_id', '=', hostId)
          .returningAll()
          .executeTakeFirst()
        if (found !== undefined) holds.hold(buildId, found.image_digest)
        return found
      })
      const settings = row === undefined ? undefined : storedJson(row.settings_json)
      // A damaged row is as one that is not there: the image is pulled again.
      if (row === undefined || settings === undefined) return null
      const imageDigest = row.image_digest as ImageDigest
      // An operator may have taken the file away.
      if ((await engine.ability('images')?.has(imageDigest)) !== true) return null
      return { imageDigest, sizeBytes: row.size_bytes, settings: settings as BuildSettings }
    },
    put: async (key, { imageDigest, sizeBytes, settings }) => {
      const at = now()
      const facts = { image_digest: imageDigest, size_bytes: sizeBytes, settings_json: JSON.stringify(settings) }
      await store.db
        .insertInto('pulled_images')
        .values({ project_id: projectId, key, host_id: hostId, ...facts, created_at: at, used_at: at })
        .onConflict((conflict) =>
          conflict.columns(['project_id', 'key', 'host_id']).doUpdateSet({ ...facts, used_at: at }),
        )
        .execute()
      await failpoint('build.remembered')
    },
  }
}
