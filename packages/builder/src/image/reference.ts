import { BuilderError } from '../errors.ts'

/** An image reference that was read once; only `text` is passed on. */
export interface ImageReference {
  readonly text: string
  /** Without tag and digest. */
  readonly name: string
  /** Null where it has none; with a digest it means nothing. */
  readonly tag: string | null
  /** The digest it is fixed to; null where it has none and a tag decides. */
  readonly digest: string | null
  /** Host and port of the registry, null where the reference leaves it to the host's default. */
  readonly registry: string | null
  /** Whether the registry is this machine, the only place where plain HTTP is accepted. */
  readonly loopback: boolean
}

const MAX_LENGTH = 512
// The grammar of github.com/distribution/reference: [host[:port]/]path[:tag][@digest].
const host = String.raw`(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?`
const component = String.raw`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
const grammar = new RegExp(
  String.raw`^(?<name>(?:(?<host>${host})/)?${component}(?:/${component})*)(?::(?<tag>[\w][\w.-]{0,127}))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$`,
)

/** Reads an image reference, or refuses it with `reference_invalid`. */
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

/** Whether a text is an image reference. */
export function isImageReference(text: string): boolean {
  const match = text.length <= MAX_LENGTH ? grammar.exec(text) : null
  const host = match?.groups?.host ?? ''
  // Five digits need not be a port.
  return match !== null && (!/[.:]/.test(host) || URL.canParse(`http://${host}`))
}

/**
 * The image as it is, whatever its tag names later. The tag goes: skopeo takes one or the other.
 */
export function pinned({ name }: ImageReference, digest: string): string {
  return `${name}@${digest}`
}
