import { BuilderError } from '../errors.ts'

/** A parsed image reference. Only `text` is passed on. */
export interface ImageReference {
  readonly text: string
  /** The name without tag and digest. */
  readonly name: string
  /** The tag, or null if there is none. It is ignored if there is a digest. */
  readonly tag: string | null
  /** The digest, or null if the tag decides. */
  readonly digest: string | null
  /** The host and port of the registry, or null for the host's default. */
  readonly registry: string | null
  /** True if the registry is on this machine. Plain HTTP is accepted only there. */
  readonly loopback: boolean
}

const MAX_LENGTH = 512
// The grammar of github.com/distribution/reference: [host[:port]/]path[:tag][@digest].
const host = String.raw`(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?`
const component = String.raw`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
const grammar = new RegExp(
  String.raw`^(?<name>(?:(?<host>${host})/)?${component}(?:/${component})*)(?::(?<tag>[\w][\w.-]{0,127}))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$`,
)

/** Parses an image reference. Throws `reference_invalid` for any other text. */
export function parseReference(text: string): ImageReference {
  const match = isImageReference(text) ? grammar.exec(text) : null
  if (match === null) {
    throw new BuilderError('reference_invalid', `${JSON.stringify(text.slice(0, 80))} is not an image reference.`)
  }
  const first = match.groups?.host ?? ''
  // Without a dot or a port the first component belongs to the path.
  const registry = /[.:]|^localhost$/.test(first) ? first : null
  const machine = (registry ?? '').replace(/:\d+$/, '').toLowerCase()
  const loopback = machine === 'localhost' || machine === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(machine)
  const { name = text, tag = null, digest = null } = match.groups ?? {}
  return { text, name, tag, digest, registry, loopback }
}

/** Returns true if a text is an image reference. */
export function isImageReference(text: string): boolean {
  const match = text.length <= MAX_LENGTH ? grammar.exec(text) : null
  const host = match?.groups?.host ?? ''
  // Five digits can exceed the range of ports.
  return match !== null && (!/[.:]/.test(host) || URL.canParse(`http://${host}`))
}

/**
 * Returns a reference to exactly this image, even if its tag moves. The tag is removed, because
 * skopeo accepts either a tag or a digest.
 */
export function pinned({ name }: ImageReference, digest: string): string {
  return `${name}@${digest}`
}
