import { spawn } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeOci } from '../../../scripts/release/write-oci.ts'
import { run } from './lab.ts'

/** A registry that the pods of a lab reach, with a small image for templates. */
export interface LabRegistry extends AsyncDisposable {
  /** The reference of the image: a shell, and nothing else. */
  readonly reference: string
  /** The host and port. */
  readonly address: string
}

const applets = ['sh', 'cat', 'cp', 'date', 'echo', 'env', 'id', 'kill', 'ls', 'mkdir', 'ps', 'sleep', 'touch']

/** Starts a registry at an address of this machine. `busybox` is a static program. */
export async function startLabRegistry(host: string, busybox: string): Promise<LabRegistry> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-lab-registry-'))
  const address = `${host}:26519`
  await writeFile(
    join(dir, 'config.yml'),
    `version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: ${dir}/data}}\nhttp: {addr: "${address}"}\n`,
  )
  const child = spawn('docker-registry', ['serve', join(dir, 'config.yml')], { stdio: 'ignore' })
  const end = async () => {
    child.kill()
    await rm(dir, { recursive: true, force: true })
  }
  try {
    await publish({ dir, busybox, reference: `${address}/lab/base:1` })
  } catch (error) {
    await end()
    throw error
  }
  return { reference: `${address}/lab/base:1`, address, [Symbol.asyncDispose]: end }
}

async function publish({
  dir,
  busybox,
  reference,
}: {
  readonly dir: string
  readonly busybox: string
  readonly reference: string
}): Promise<void> {
  const root = join(dir, 'root')
  for (const name of ['bin', 'etc', 'tmp', 'root', 'workspace']) await mkdir(join(root, name), { recursive: true })
  await copyFile(busybox, join(root, 'bin/busybox'))
  for (const name of applets) await symlink('busybox', join(root, 'bin', name))
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\n')
  await writeFile(join(root, 'etc/group'), 'root:x:0:\n')
  const [layer, archive] = [join(dir, 'layer.tar'), join(dir, 'image.tar')]
  await run('tar', ['--create', '--owner=0', '--group=0', `--file=${layer}`, `--directory=${root}`, '.'])
  await writeOci(archive, {
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    name: 'base:1',
    epochSecs: 0,
    layers: [{ file: layer, createdBy: 'a test' }],
    config: { Env: ['PATH=/bin'], WorkingDir: '/workspace' },
  })
  const copy = ['--insecure-policy', 'copy', '--quiet', '--dest-tls-verify=false']
  for (let tries = 0; ; tries += 1) {
    const { code, out } = await run('skopeo', [...copy, `oci-archive:${archive}`, `docker://${reference}`])
    if (code === 0) return
    if (tries >= 40) throw new Error(`the image could not be pushed: ${out}`)
    await sleep(500)
  }
}
