import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { BuildError } from '../errors.ts'
import { signaturePolicyFile } from '../image/pull-image.ts'
import type { ImageAddress } from './image-address.ts'

const requirements = z.array(z.object({ type: z.string() })).min(1)
const policySchema = z.object({
  default: requirements,
  transports: z.object({ docker: z.record(z.string(), requirements).optional() }).optional(),
})

/**
 * Throws `BuildError` `image_pull_failed` unless the host's signature policy accepts an image
 * without a signature. Holt checks no signatures. A host without a policy accepts every image.
 */
export async function requireAccepted(address: ImageAddress, file: string = signaturePolicyFile): Promise<void> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (text === null || accepts(text, address)) return
  throw new BuildError(
    'image_pull_failed',
    `The signature policy of the service's host does not accept ${address.registry}/${address.repository}.`,
    { hint: `Holt checks no signatures. The operator can accept the registry without one in ${file}.` },
  )
}

/** Returns true if a policy accepts an unsigned image. An invalid policy accepts none. */
function accepts(text: string, address: ImageAddress): boolean {
  const policy = parse(text)
  if (policy === null) return false
  const scopes = policy.transports?.docker ?? {}
  const scope = scopesOf(address).find((name) => Object.hasOwn(scopes, name))
  const required = scope === undefined ? policy.default : scopes[scope]
  return required?.every(({ type }) => type === 'insecureAcceptAnything') === true
}

function parse(text: string): z.infer<typeof policySchema> | null {
  try {
    return policySchema.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null // The text is no JSON.
  }
}

/**
 * Returns the scopes of an image from the narrowest to the widest: the image, its repository, the
 * namespaces, the registry, its parent domains, and all registries. Source: containers/image,
 * docker/policyconfiguration/naming.go.
 */
function scopesOf({ registry, repository, wanted }: ImageAddress): readonly string[] {
  const parts = [registry, ...repository.split('/')]
  const names = parts.map((_, index) => parts.slice(0, parts.length - index).join('/'))
  const labels = registry.replace(/:\d+$/, '').split('.')
  const domains = labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)
  const image = `${names[0]}${wanted.startsWith('sha256:') ? '@' : ':'}${wanted}`
  return [image, ...names, ...domains, '']
}
