import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { layerBytes } from '../../src/image/blob.ts'

test.each([true, false])('a layer that cannot be opened fails only its image (verify: %s)', async (verify) => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-blob-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  const digest = `sha256:${'0'.repeat(64)}`
  const descriptor = { mediaType: 'application/vnd.oci.image.layer.v1.tar', digest, size: 1 }
  const layer = { path: join(dir, 'missing'), descriptor, diffId: digest }
  const read = Array.fromAsync(layerBytes(layer, { verify, budget: { left: 1 } }))
  await expect(read).rejects.toMatchObject({ code: 'image_invalid' })
})
