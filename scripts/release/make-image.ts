import { chmod, copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeDebianLayer } from './debian-layer.ts'
import { type Arch, debArchs, type ReleaseFacts } from './facts.ts'
import type { Components } from './make-tree.ts'
import { run } from './run.ts'
import { writeSbom } from './sbom.ts'
import { writeOci } from './write-oci.ts'

/** The parts of an image of this machine's processor. */
interface ImageParts {
  readonly arch: Arch
  /** The name of the Debian package, in the directory of the artifacts. */
  readonly deb: string
  readonly components: Components
  /** True if the lock of Debian's packages is written anew. */
  readonly update?: boolean
}

/** The programs of the image that are its first process: deploy/image. */
const firstProcesses = ['holt-service', 'holt-pod']

/**
 * Makes the container image of the service, as an archive of an OCI layout: Debian's smallest
 * system, the files of the Debian package, and the first processes. Returns the names of the
 * archive and of its bill of materials. Needs root, mmdebstrap and a Debian mirror.
 */
export async function makeImage(
  { arch, deb, components, update = false }: ImageParts,
  facts: ReleaseFacts,
  outDir: string,
): Promise<readonly string[]> {
  const { root, version, commit, epochSecs } = facts
  const base = `holt-${version}-image-${arch}`
  const debian = await makeDebianLayer(root, { arch, update })
  const work = await mkdtemp(join(tmpdir(), 'holt-image-'))
  try {
    const sbom = join(work, 'root/usr/share/holt/sbom.cdx.json')
    await mkdir(join(work, 'root/usr/share/holt'), { recursive: true })
    await writeSbom(sbom, { facts, arch, components, debian: debian.packages })
    const holt = join(work, 'holt.tar')
    await run(['sh', '-c', 'dpkg-deb --fsys-tarfile "$1" >"$2"', 'sh', join(outDir, deb), holt])
    const own = await ownLayer(work, facts)
    const layers = [
      { file: debian.file, createdBy: 'Debian, by scripts/release/debian.json' },
      { file: holt, createdBy: `Holt ${version}` },
      { file: own, createdBy: 'deploy/image, and the bill of materials' },
    ]
    const config = configOf({ version, commit, epochSecs })
    const image = { architecture: debArchs[arch], name: `holt:${version}`, epochSecs, layers, config }
    await writeOci(join(outDir, `${base}.tar`), image)
    await copyFile(sbom, join(outDir, `${base}.cdx.json`))
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  return [`${base}.tar`, `${base}.cdx.json`]
}

/** Packs the first processes and the bill of materials. */
async function ownLayer(work: string, { root, epochSecs }: ReleaseFacts): Promise<string> {
  const tree = join(work, 'root')
  await mkdir(join(tree, 'usr/local/sbin'), { recursive: true })
  for (const name of firstProcesses) {
    const target = join(tree, 'usr/local/sbin', name)
    await copyFile(join(root, 'deploy/image', name), target)
    await chmod(target, 0o755)
  }
  const same = ['--format=gnu', '--sort=name', `--mtime=@${epochSecs}`, '--owner=0', '--group=0', '--numeric-owner']
  const file = join(work, 'own.tar')
  await run(['tar', '--create', ...same, '--mode=u=rwX,go=rX', `--file=${file}`, `--directory=${tree}`, 'usr'])
  return file
}

/** Returns the configuration with the labels of image-spec, annotations.md. */
function configOf({ version, commit, epochSecs }: Pick<ReleaseFacts, 'version' | 'commit' | 'epochSecs'>) {
  return {
    ExposedPorts: { '4658/tcp': {} },
    Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOLT_STATE_DIR=/var/lib/holt'],
    Entrypoint: ['/usr/local/sbin/holt-service'],
    Cmd: ['serve'],
    Volumes: { '/var/lib/holt': {} },
    Labels: {
      'org.opencontainers.image.created': new Date(epochSecs * 1000).toISOString(),
      'org.opencontainers.image.description': 'Runs untrusted code for AI agents',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.revision': commit,
      'org.opencontainers.image.title': 'holt',
      'org.opencontainers.image.version': version,
    },
    StopSignal: 'SIGTERM',
  }
}
