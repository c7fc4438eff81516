import { createHash } from 'node:crypto'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BuilderError } from '../errors.ts'
import { KEPT_BYTES, lastLines, runProgram } from '../process/run-program.ts'
import { makeScratch } from '../scratch/make-scratch.ts'
import { hostArchitecture } from './platform.ts'
import { type LayoutImage, readLayout } from './read-layout.ts'
import { type ImageReference, pinned } from './reference.ts'

/** The name and password for the registry. */
export interface RegistryAuth {
  readonly username: string
  readonly password: string
}

/** An image in a private directory. */
export interface PulledImage extends LayoutImage, AsyncDisposable {
  /** The digest in the registry: that of the image, or that of the index with several platforms. */
  readonly digest: string
}

interface PullOptions {
  readonly reference: ImageReference
  readonly workDir: string
  readonly auth?: RegistryAuth | undefined
  readonly env: NodeJS.ProcessEnv
  readonly maxLayerBytes: number
  readonly signal: AbortSignal
}

/** The signature policy of this host (containers-policy.json(5)). */
export const signaturePolicyFile = '/etc/containers/policy.json'

const PULL_TIMEOUT_MS = 30 * 60_000
/**
 * The variables that skopeo gets: the places of the operator's logins, proxies and certificates.
 */
const passed =
  /^(PATH|HOME|XDG_RUNTIME_DIR|REGISTRY_AUTH_FILE|DOCKER_CONFIG|https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY|SSL_CERT_(FILE|DIR))$/

/**
 * Copies the image for this host's platform into an OCI layout and reads its manifest and
 * configuration.
 */
export async function pullImage(options: PullOptions): Promise<PulledImage> {
  await using owned = new AsyncDisposableStack()
  const dir = owned.use(await makeScratch(options.workDir, 'image')).path
  const layout = join(dir, 'layout')
  const skopeo = await prepareSkopeo(options, dir)
  // A tag may move between two requests, so the digest of the first request is fetched.
  const digest = options.reference.digest ?? (await resolve(options.reference, skopeo))
  await skopeo('copy', ['--quiet'], [`docker://${pinned(options.reference, digest)}`, `oci:${layout}`])
  const image = await readLayout(layout, options.maxLayerBytes)
  const kept = owned.move()
  return {
    digest,
    ...image,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** Runs a verb of skopeo on the registry and returns its output. */
type Skopeo = (verb: string, flags: readonly string[], places: readonly string[]) => Promise<string>

async function prepareSkopeo({ reference, auth, env, signal }: PullOptions, dir: string): Promise<Skopeo> {
  const authfile = auth === undefined ? null : await writeAuth(join(dir, 'auth.json'), reference, auth)
  // skopeo requires this flag if the operator has written no signature policy.
  const policy = (await stat(signaturePolicyFile).catch(() => null)) === null ? ['--insecure-policy'] : []
  const visible = Object.entries(env).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && passed.test(pair[0]),
  )
  return async (verb, flags, places) => {
    const prefix = verb === 'copy' ? '--src-' : '--'
    const shared = ['--retry-times', '1']
    if (reference.loopback) shared.push(`${prefix}tls-verify=false`)
    if (authfile !== null) shared.push(verb === 'copy' ? '--src-authfile' : '--authfile', authfile)
    const result = await runProgram(['skopeo', ...policy, verb, ...shared, ...flags, '--', ...places], {
      env: Object.fromEntries(visible),
      signal,
      timeoutMs: PULL_TIMEOUT_MS,
    })
    if (result.code !== 0) throw pullError(reference.text, result.stderr)
    return result.stdout
  }
}

async function writeAuth(path: string, { registry }: ImageReference, auth: RegistryAuth): Promise<string> {
  if (registry === null) {
    throw new BuilderError('reference_invalid', 'With credentials the reference has to name its registry.')
  }
  const entry = { auth: Buffer.from(`${auth.username}:${auth.password}`).toString('base64') }
  await writeFile(path, JSON.stringify({ auths: { [registry]: entry } }), { mode: 0o600 })
  return path
}

/**
 * Returns the digest of the manifest that a tag names now: that of its bytes (OCI
 * distribution-spec, pulling manifests).
 */
async function resolve(reference: ImageReference, skopeo: Skopeo): Promise<string> {
  const manifest = Buffer.from(await skopeo('inspect', ['--raw'], [`docker://${reference.text}`]))
  if (manifest.length >= KEPT_BYTES) throw new BuilderError('image_too_large', "The image's manifest is too large.")
  return `sha256:${createHash('sha256').update(manifest).digest('hex')}`
}

/** The maximum length of skopeo's last line that is searched. It includes text of the registry. */
const maxCharacters = 2_000

/**
 * Returns the error for skopeo's last line. Addresses are removed first, because the digits of a
 * port or a name may look like a status.
 */
export function pullError(reference: string, log: string): BuilderError {
  const detail = lastLines(log)
  const lastLine = lastLines(log, 1)
    .slice(-maxCharacters)
    .replaceAll(/\S+/g, (word) => (word.includes('/') ? '' : word.replace(/^.+:\d+/, '')))
  if (/manifest unknown|name unknown|repository name not known|status(code)?: 404/i.test(lastLine)) {
    return new BuilderError('image_not_found', `The registry has no image ${reference}.`, { detail })
  }
  if (/unauthorized|denied|authentication required|status(code)?: 40[13]/i.test(lastLine)) {
    return new BuilderError('image_refused', `The registry does not give ${reference} to these credentials.`, {
      detail,
    })
  }
  if (/no image found in (manifest list|image index)/i.test(lastLine)) {
    return new BuilderError('platform_missing', `${reference} has no image for linux/${hostArchitecture}.`, {
      detail,
    })
  }
  if (/digest|manifest.*(invalid|does not match)/i.test(lastLine)) {
    return new BuilderError('image_invalid', `${reference} is damaged.`, { detail })
  }
  // Go's errors name their cause last.
  const why = lastLine
    .slice(lastLine.lastIndexOf(':') + 1)
    .replaceAll(/["\\,]/g, '')
    .trim()
    .slice(0, 200)
  return new BuilderError('source_unreachable', `${reference} could not be fetched: ${why}.`, { detail })
}
