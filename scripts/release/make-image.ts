import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ReleaseFacts } from './facts.ts'
import { run } from './run.ts'

/** The distribution of the image: the newest one that releases are made for. */
const suite = 'trixie'

/**
 * Makes a container image of the service for this machine's processor, as an OCI archive: Debian's
 * smallest system with the Debian package. Returns its name. Needs root, mmdebstrap, buildah and a
 * Debian mirror. The Debian packages are the current ones.
 */
export async function makeImage(
  deb: string,
  { root, version, epochSecs }: ReleaseFacts,
  outDir: string,
): Promise<string> {
  const name = `holt-${version}-image-${process.arch}.tar`
  const work = await mkdtemp(join(tmpdir(), 'holt-image-'))
  const env = { SOURCE_DATE_EPOCH: String(epochSecs), TMPDIR: work }
  try {
    const tree = join(work, 'root.tar')
    await run(['bash', join(root, 'scripts/release/make-image-root.sh'), suite, join(outDir, deb), tree], {
      cwd: root,
      env,
    })
    // Separate storage, so that no part of the image stays on the machine.
    const buildah = (...args: string[]) =>
      run(
        ['buildah', '--root', join(work, 'storage'), '--runroot', join(work, 'run'), '--storage-driver=vfs', ...args],
        { env },
      )
    const container = (await buildah('from', 'scratch')).trim()
    await buildah('add', '--quiet', container, tree, '/')
    const first = join(root, 'deploy/image/holt-service')
    await buildah('copy', '--quiet', '--chmod', '0755', container, first, '/usr/local/sbin/holt-service')
    const settings = ['--env', 'HOLT_STATE_DIR=/var/lib/holt', '--volume', '/var/lib/holt', '--port', '4658']
    const program = ['--entrypoint', '["/usr/local/sbin/holt-service"]', '--cmd', 'serve', '--stop-signal', 'SIGTERM']
    await buildah('config', ...settings, ...program, container)
    const target = `oci-archive:${join(outDir, name)}:holt:${version}`
    await buildah('commit', '--quiet', '--timestamp', String(epochSecs), '--format=oci', container, target)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  return name
}
