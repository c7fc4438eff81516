import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { run } from './run.ts'

/** An image to write. */
export interface OciImage {
  /** The processor by Go's name: `amd64`. */
  readonly architecture: string
  /** The name with its tag. */
  readonly name: string
  /** The time of the image, in seconds since 1970. */
  readonly epochSecs: number
  /** The layers as uncompressed tar files, the lowest first. */
  readonly layers: readonly { readonly file: string; readonly createdBy: string }[]
  /** The field `config` of the image configuration (image-spec, config.md). */
  readonly config: Readonly<Record<string, unknown>>
}

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

const media = 'application/vnd.oci.image'

/**
 * Writes an image as an archive of an OCI layout (image-spec, image-layout.md). The same layers and
 * configuration give the same bytes. Returns the digest of the manifest.
 */
export async function writeOci(target: string, image: OciImage): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-oci-'))
  const created = new Date(image.epochSecs * 1000).toISOString()
  try {
    const blobs = join(dir, 'blobs/sha256')
    await mkdir(blobs, { recursive: true })
    const layers: (Descriptor & { diffId: string })[] = []
    for (const { file } of image.layers) layers.push(await addLayer(blobs, file))
    const config = await addJson(blobs, `${media}.config.v1+json`, {
      created,
      architecture: image.architecture,
      os: 'linux',
      config: image.config,
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
      history: image.layers.map(({ createdBy }) => ({ created, created_by: createdBy })),
    })
    const manifest = await addJson(blobs, `${media}.manifest.v1+json`, {
      schemaVersion: 2,
      mediaType: `${media}.manifest.v1+json`,
      config,
      layers: layers.map(({ mediaType, digest, size }) => ({ mediaType, digest, size })),
    })
    const annotations = {
      'io.containerd.image.name': fullName(image.name),
      'org.opencontainers.image.created': created,
      'org.opencontainers.image.ref.name': image.name,
    }
    await writeFile(
      join(dir, 'index.json'),
      JSON.stringify({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] }),
    )
    await writeFile(join(dir, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
    await archive(dir, target, image.epochSecs)
    return manifest.digest
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** Compresses a layer into the blobs, and names it after its content. */
async function addLayer(blobs: string, file: string): Promise<Descriptor & { readonly diffId: string }> {
  const [plain, packed] = [createHash('sha256'), createHash('sha256')]
  const temporary = join(blobs, 'layer')
  // Node writes neither a name nor a time into the header.
  await pipeline(
    createReadStream(file),
    observing(plain),
    createGzip({ level: 6 }),
    observing(packed),
    createWriteStream(temporary),
  )
  const hex = packed.digest('hex')
  const { size } = await stat(temporary)
  await rename(temporary, join(blobs, hex))
  return {
    mediaType: `${media}.layer.v1.tar+gzip`,
    digest: `sha256:${hex}`,
    size,
    diffId: `sha256:${plain.digest('hex')}`,
  }
}

function observing(hash: ReturnType<typeof createHash>): Transform {
  return new Transform({
    transform: (chunk, _, done) => {
      hash.update(chunk)
      done(null, chunk)
    },
  })
}

async function addJson(blobs: string, mediaType: string, value: unknown): Promise<Descriptor> {
  const text = JSON.stringify(value)
  const hex = createHash('sha256').update(text).digest('hex')
  await writeFile(join(blobs, hex), text)
  return { mediaType, digest: `sha256:${hex}`, size: Buffer.byteLength(text) }
}

/** Returns a name as a kubelet asks for it: with a registry. */
function fullName(name: string): string {
  const [first = ''] = name.split('/')
  if (!name.includes('/')) return `docker.io/library/${name}`
  return /[.:]|^localhost$/.test(first) ? name : `docker.io/${name}`
}

async function archive(dir: string, target: string, epochSecs: number): Promise<void> {
  const same = ['--format=gnu', '--sort=name', `--mtime=@${epochSecs}`, '--owner=0', '--group=0', '--numeric-owner']
  const mode = '--mode=u=rwX,go=rX'
  await run([
    'tar',
    '--create',
    ...same,
    mode,
    `--file=${target}`,
    `--directory=${dir}`,
    'blobs',
    'index.json',
    'oci-layout',
  ])
}
