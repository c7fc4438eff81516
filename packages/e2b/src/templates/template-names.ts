import { createHash } from 'node:crypto'
import { E2bError } from '../errors/e2b-error.ts'

/** The tag of a name without one, as clients call it. */
const clientsDefaultTag = 'default'

/** Holt's own tag for it. */
const holtsDefaultTag = 'latest'

/** A template's name and tag, as Holt has them. */
export interface TemplateName {
  readonly name: string
  readonly tag: string
}

/** Returns the template that `name` or `name:tag` names. */
export function parseTemplateName(reference: string): TemplateName {
  const [, name, tag = clientsDefaultTag] = /^([a-z0-9_-]+)(?::([A-Za-z0-9_.-]+))?$/.exec(reference.toLowerCase()) ?? []
  if (name === undefined || name.length > 128)
    throw new E2bError(400, `name: '${reference}' must be made of a-z, 0-9, - and _, with a tag after : or none`)
  return { name: holtName(name), tag: parseTag(tag) }
}

/** Returns Holt's tag for a tag of a client. */
export function parseTag(tag: string): string {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/.test(tag)) throw new E2bError(400, `tags: '${tag}' is not a tag`)
  return tag === clientsDefaultTag ? holtsDefaultTag : tag
}

/** Returns a client's tag for a tag of Holt. */
export function presentTag(tag: string): string {
  return tag === holtsDefaultTag ? clientsDefaultTag : tag
}

/**
 * Returns the name by which Holt keeps a template. A name of Holt is a DNS label. Any other gets a
 * digest at its end, so that two names never become one.
 */
export function holtName(name: string): string {
  if (/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) return name
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8)
  const label = name
    .replaceAll('_', '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 54)
    .replace(/-+$/, '')
  return label === '' ? `t-${digest}` : `${label}-${digest}`
}
