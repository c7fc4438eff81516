import { stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BuildError, BuilderError } from '../errors.ts'
import type { ImageLimits } from '../image/image-limits.ts'
import type { Descriptor } from '../image/oci-schemas.ts'
import { type LayoutImage, readConfig, readLayout } from '../image/read-layout.ts'
import { lastLines, runProgram } from '../process/run-program.ts'
import { makeScratch } from '../scratch/make-scratch.ts'
import { bytesOf } from './answers.ts'
import type { ImageSource } from './image-source.ts'
import { chooseFromIndex, type ImageManifest, readImageManifest } from './manifest.ts'
import { type Relay, startRelay } from './relay.ts'
import { TransferError } from './transfer-error.ts'

/** Options for copying an image. */
export interface CopyOptions {
  /** The name of the image in messages. */
  readonly reference: string
  readonly limits: ImageLimits
  readonly workDir: string
  /** Reports the progress. Called for every chunk. */
  readonly onBytes: (progress: CopyProgress) => void
  readonly signal: AbortSignal
}

/** The layers and bytes that have arrived, and their totals. */
export interface CopyProgress {
  readonly layersDone: number
  readonly layers: number
  readonly bytesDone: number
  readonly bytes: number
}

/** An image in a private directory. */
export interface CopiedImage extends LayoutImage, AsyncDisposable {}

const copyTimeoutMs = 30 * 60_000
const maxConfigBytes = 4 * 2 ** 20
const policy = '/etc/containers/policy.json'

/**
 * Copies the image with a digest into an OCI layout on this host. skopeo writes the layout and
 * connects only to a relay on loopback. All external content is fetched and verified here.
 */
export async function copyImage(source: ImageSource, digest: string, options: CopyOptions): Promise<CopiedImage> {
  const { reference, limits, signal } = options
  const top = await source.manifest(digest, signal)
  const chosen = chooseFromIndex(top, reference)
  const manifest = readImageManifest(chosen === null ? top : await source.manifest(chosen, signal), reference, limits)
  const configBytes = await readSmall(source, manifest.config, signal)
  const { config, diffIds } = readConfig(configBytes)
  await refuseWithoutRoom(manifest, options.workDir)
  await using owned = new AsyncDisposableStack()
  const dir = owned.use(await makeScratch(options.workDir, 'image')).path
  const layout = join(dir, 'layout')
  await fillLayout({ source, manifest, config: configBytes, dir, layout }, options)
  const { layers } = await readLayout(layout, limits.maxLayerBytes)
  if (layers.length !== diffIds.length || layers.some(({ diffId }, index) => diffId !== diffIds[index]))
    throw new BuilderError('image_invalid', "The image's manifest and configuration list different layers.")
  const kept = owned.move()
  // For a Docker image skopeo writes a new configuration without the fields that OCI does not name
  // (SHELL, ONBUILD), so the original one is used.
  return { config, layers, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** The bytes that stay free on the disk during a pull, for other programs of the host. */
const keptFreeBytes = 512 * 2 ** 20

async function refuseWithoutRoom({ layers }: ImageManifest, workDir: string): Promise<void> {
  const { bavail, bsize } = await statfs(workDir)
  const bytes = layers.reduce((sum, { size }) => sum + size, 0)
  if (bytes + keptFreeBytes > bavail * bsize) throw fullDisk()
}

function fullDisk(cause?: unknown): BuildError {
  const hint = 'Ask the operator to free disk space. The image itself is valid.'
  return new BuildError('image_pull_failed', 'The disk of the service has no room for the image.', { hint, cause })
}

interface Copy {
  readonly source: ImageSource
  readonly manifest: ImageManifest
  readonly config: Uint8Array
  readonly dir: string
  readonly layout: string
}

/**
 * Copies again while a failure removes a server and others remain. Content that is already there is
 * not fetched twice.
 */
async function fillLayout(copy: Copy, options: CopyOptions): Promise<void> {
  for (;;) {
    const servers = copy.source.serversLeft
    try {
      return await copyOnce(copy, options)
    } catch (error) {
      options.signal.throwIfAborted()
      if (!(error instanceof TransferError) || copy.source.serversLeft === servers) throw error
    }
  }
}

async function copyOnce({ source, manifest, config, dir, layout }: Copy, options: CopyOptions): Promise<void> {
  const counted = countBytes(manifest, options.onBytes)
  await using relay = await startRelay(
    {
      manifest,
      blob: (descriptor, signal) =>
        descriptor.digest === manifest.config.digest ? only(config) : counted(source.blob(descriptor, signal)),
    },
    options.signal,
  )
  const result = await runSkopeo(relay, { dir, layout, signal: options.signal })
  if (result.code === 0) return
  if (relay.failure !== null) throw relay.failure
  const detail = lastLines(result.stderr)
  if (/no space left on device/i.test(detail)) throw fullDisk(detail)
  throw new BuilderError('image_invalid', 'The image cannot be read.', { detail })
}

async function runSkopeo(relay: Relay, { dir, layout, signal }: { dir: string; layout: string; signal: AbortSignal }) {
  const authfile = join(dir, 'auth.json')
  const auth = Buffer.from(`${relay.username}:${relay.password}`).toString('base64')
  await writeFile(authfile, JSON.stringify({ auths: { [relay.address]: { auth } } }), { mode: 0o600 })
  // skopeo requires this flag if the operator has written no signature policy.
  const insecure = (await stat(policy).catch(() => null)) === null ? ['--insecure-policy'] : []
  const flags = ['--quiet', '--src-tls-verify=false', '--src-authfile', authfile]
  return runProgram(
    ['skopeo', ...insecure, '--tmpdir', dir, 'copy', ...flags, '--', `docker://${relay.reference}`, `oci:${layout}`],
    { env: { PATH: process.env.PATH ?? '/usr/bin', HOME: dir }, signal, timeoutMs: copyTimeoutMs },
  )
}

function countBytes(manifest: ImageManifest, onBytes: CopyOptions['onBytes']) {
  const bytes = manifest.layers.reduce((sum, { size }) => sum + size, 0)
  let [layersDone, bytesDone] = [0, 0]
  const say = () => onBytes({ layersDone, layers: manifest.layers.length, bytesDone, bytes })
  say()
  return async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      bytesDone += chunk.length
      say()
      yield chunk
    }
    layersDone += 1
    say()
  }
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function readSmall(source: ImageSource, descriptor: Descriptor, signal: AbortSignal): Promise<Uint8Array> {
  if (descriptor.size > maxConfigBytes)
    throw new BuilderError('image_too_large', `The image's configuration has ${descriptor.size} bytes.`)
  return bytesOf(source.blob(descriptor, signal), maxConfigBytes, 'the registry')
}
