import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { run } from './machine.ts'

/** How a layer is stored. */
export type Compression = 'none' | 'gzip' | 'zstd'

/** One layer: an uncompressed tar. */
export interface LayerSource {
  readonly tar: Buffer
  readonly compression: Compression
  /** Instead of the true digest of the content, to lie. */
  readonly diffId?: string
}

const suffix = { none: '', gzip: '+gzip', zstd: '+zstd' } as const
const compress = { none: (tar: Buffer) => tar, gzip: gzipSync, zstd: zstdCompressSync } as const

/**
 * Makes a tar with GNU tar of what a script leaves in an empty directory; the script runs as root
 * there.
 */
export async function tarOf(dir: string, script: string, ...tarFlags: string[]): Promise<Buffer> {
  await mkdir(dir, { recursive: true })
  run(['sh', '-euc', `umask 022; cd "$1"; ${script}`, 'sh', dir])
  return run([
    'tar',
    '--numeric-owner',
    '--format=pax',
    '--xattrs',
    '--xattrs-include=*',
    ...tarFlags,
    '-C',
    dir,
    '-c',
    '.',
  ])
}

/** Writes an OCI image layout by hand, so that layers may be what no tool would make. */
export async function writeLayout(
  dir: string,
  layers: readonly LayerSource[],
  options: { readonly architecture?: string; readonly config?: object } = {},
): Promise<void> {
  await mkdir(join(dir, 'blobs/sha256'), { recursive: true })
  const store = async (bytes: Buffer, mediaType: string) => {
    const digest = sha256(bytes)
    await writeFile(join(dir, 'blobs/sha256', digest.slice(7)), bytes)
    return { mediaType, digest, size: bytes.length }
  }
  const stored = []
  for (const { tar, compression } of layers) {
    const blob = compress[compression](tar)
    stored.push(await store(blob, `application/vnd.oci.image.layer.v1.tar${suffix[compression]}`))
  }
  const architecture = options.architecture ?? (process.arch === 'x64' ? 'amd64' : process.arch)
  const diffIds = layers.map(({ tar, diffId }) => diffId ?? sha256(tar))
  const config = {
    architecture,
    os: 'linux',
    config: options.config ?? {},
    rootfs: { type: 'layers', diff_ids: diffIds },
    history: layers.map(() => ({ created_by: 'a test' })),
  }
  const configBlob = await store(json(config), 'application/vnd.oci.image.config.v1+json')
  const manifest = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: configBlob,
    layers: stored,
  }
  const top = await store(json(manifest), 'application/vnd.oci.image.manifest.v1+json')
  await writeFile(join(dir, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
  await writeFile(join(dir, 'index.json'), json({ schemaVersion: 2, manifests: [top] }))
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

function sha256(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
