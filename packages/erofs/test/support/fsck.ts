import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/**
 * Throws what `fsck.erofs` finds wrong. Its exit status is 0 even when a checksum is wrong, so that
 * its words count.
 */
export async function fsck(image: string): Promise<void> {
  const { stdout, stderr } = await promisify(execFile)('fsck.erofs', [image], { timeout: 60_000 })
  const findings = `${stdout}${stderr}`.trim()
  if (findings !== '') throw new Error(`fsck.erofs: ${findings}`)
}
