import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { BuilderError } from '../errors.ts'
import { lastLines, runCommand } from '../process/run-command.ts'
import { readSmallBlob } from './blob.ts'
import { configSchema, type Descriptor, indexSchema, manifestSchema } from './oci-schemas.ts'
import type { ImageReference } from './reference.ts'

/** Name and password for the registry. */
export interface RegistryAuth {
  readonly username: string
  readonly password: string
}

/** What the image says about itself. Written by whoever made the image: data, never an instruction to the host. */
export interface ImageConfig {
  readonly architecture: string
  readonly user: string
  readonly workdir: string
  readonly env: readonly string[]
  readonly entrypoint: readonly string[]
  readonly command: readonly string[]
}

/** One layer in an image layout on this host, and the digest its content must have when uncompressed. */
export interface Layer {
  readonly path: string
  readonly descriptor: Descriptor
  readonly diffId: string
}

/** An image in a private directory. */
export interface PulledImage extends AsyncDisposable {
  readonly manifestDigest: string
  readonly config: ImageConfig
  /** From the lowest to the highest. */
  readonly layers: readonly Layer[]
}

interface PullOptions {
  readonly reference: ImageReference
  readonly workDir: string
  readonly auth?: RegistryAuth | undefined
  readonly env: NodeJS.ProcessEnv
  readonly maxLayerBytes: number
  readonly signal: AbortSignal
}

const PULL_TIMEOUT_MS = 30 * 60_000
/** The variables that skopeo may see: where the operator's logins, proxies and certificates are. */
const passed =
  /^(PATH|HOME|XDG_RUNTIME_DIR|REGISTRY_AUTH_FILE|DOCKER_CONFIG|https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY|SSL_CERT_(FILE|DIR))$/
const POLICY = '/etc/containers/policy.json'
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/** Copies the image for this host's platform into an OCI layout and reads its manifest and configuration. */
export async function pullImage(options: PullOptions): Promise<PulledImage> {
  await using owned = new AsyncDisposableStack()
  const dir = await mkdtemp(join(options.workDir, 'holt-image-'))
  owned.defer(() => rm(dir, { recursive: true, force: true }))
  const layout = join(dir, 'layout')
  await copy(options, dir, layout)
  const [top] = parse(indexSchema, await readFile(join(layout, 'index.json')), 'index').manifests
  if (top === undefined) throw new BuilderError('image_invalid', 'The image has no manifest.')
  const manifest = parse(manifestSchema, await readSmallBlob(layout, top), 'manifest')
  const config = parse(configSchema, await readSmallBlob(layout, manifest.config), 'configuration')
  refuseForeign(config)
  const layers = pairLayers(layout, manifest.layers, config.rootfs.diff_ids)
  refuseLarge(layers, options.maxLayerBytes)
  const kept = owned.move()
  return {
    manifestDigest: top.digest,
    config: toConfig(config),
    layers,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

function pairLayers(layout: string, descriptors: readonly Descriptor[], diffIds: readonly string[]): readonly Layer[] {
  if (diffIds.length !== descriptors.length) {
    throw new BuilderError('image_invalid', 'The image lists more or fewer layers than it has.')
  }
  return descriptors.map((descriptor, index) => {
    const path = join(layout, 'blobs/sha256', descriptor.digest.slice('sha256:'.length))
    return { path, descriptor, diffId: diffIds[index] ?? '' }
  })
}

async function copy({ reference, auth, env, signal }: PullOptions, dir: string, layout: string): Promise<void> {
  const flags: string[] = []
  if (reference.loopback) flags.push('--src-tls-verify=false')
  if (auth !== undefined) {
    const file = join(dir, 'auth.json')
    const entry = { auth: Buffer.from(`${auth.username}:${auth.password}`).toString('base64') }
    if (reference.registry === null) {
      throw new BuilderError('reference_invalid', 'With credentials the reference has to name its registry.')
    }
    await writeFile(file, JSON.stringify({ auths: { [reference.registry]: entry } }), { mode: 0o600 })
    flags.push('--src-authfile', file)
  }
  // Where the operator wrote no signature policy there is none to follow, and skopeo wants that said.
  const policy = (await stat(POLICY).catch(() => null)) === null ? ['--insecure-policy'] : []
  const argv = [
    'skopeo',
    ...policy,
    'copy',
    '--quiet',
    '--retry-times',
    '2',
    ...flags,
    '--',
    `docker://${reference.text}`,
    `oci:${layout}`,
  ]
  const visible = Object.entries(env).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && passed.test(pair[0]),
  )
  const result = await runCommand(argv as [string, ...string[]], {
    env: Object.fromEntries(visible),
    signal,
    timeoutMs: PULL_TIMEOUT_MS,
  })
  if (result.code !== 0) throw pullError(reference.text, result.stderr)
}

function pullError(reference: string, log: string): BuilderError {
  const detail = lastLines(log)
  if (/manifest unknown|name unknown|not found|404/i.test(log)) {
    return new BuilderError('image_not_found', `The registry has no image ${reference}.`, { detail })
  }
  if (/unauthorized|denied|authentication required|40[13]/i.test(log)) {
    return new BuilderError('image_refused', `The registry does not give ${reference} to these credentials.`, {
      detail,
    })
  }
  if (/no image found in (manifest list|image index)/i.test(log)) {
    return new BuilderError('platform_missing', `${reference} has no image for ${hostArchitecture()}.`, { detail })
  }
  if (/digest|manifest.*(invalid|does not match)/i.test(log)) {
    return new BuilderError('image_invalid', `${reference} is damaged.`, { detail })
  }
  return new BuilderError('source_unreachable', `${reference} could not be fetched.`, { detail })
}

function hostArchitecture(): string {
  return architectures[process.arch] ?? process.arch
}

function refuseForeign({ os, architecture }: z.infer<typeof configSchema>): void {
  if (os === 'linux' && architecture === hostArchitecture()) return
  const platform = `${os}/${architecture}`.slice(0, 80)
  throw new BuilderError(
    'platform_missing',
    `The image is for ${platform}; this host runs linux/${hostArchitecture()}.`,
  )
}

function refuseLarge(layers: readonly Layer[], maxLayerBytes: number): void {
  const sum = layers.reduce((total, { descriptor }) => total + descriptor.size, 0)
  if (sum > maxLayerBytes)
    throw new BuilderError('image_too_large', `The image's layers have ${sum} bytes, ${maxLayerBytes} may be.`)
}

function toConfig({ architecture, config }: z.infer<typeof configSchema>): ImageConfig {
  return {
    architecture,
    user: config?.User ?? '',
    workdir: config?.WorkingDir ?? '',
    env: config?.Env ?? [],
    entrypoint: config?.Entrypoint ?? [],
    command: config?.Cmd ?? [],
  }
}

function parse<S extends z.ZodType>(schema: S, bytes: Uint8Array, what: string): z.infer<S> {
  try {
    return schema.parse(JSON.parse(Buffer.from(bytes).toString('utf8')))
  } catch (cause) {
    const detail = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause)
    throw new BuilderError('image_invalid', `The image's ${what} cannot be understood.`, { detail, cause })
  }
}
