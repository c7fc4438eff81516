import { createHash } from 'node:crypto'
import { readableBy } from '../../foundation/rows/system-project.ts'
import type { Queries } from '../../foundation/store/open-store.ts'

/** The characters of an id after its prefix. */
const idLength = 20

const shape = /^(tm[0-9a-z]{20})(?::(.+))?$/

/**
 * Returns the id by which clients know a template. To them, it is one template with several tags.
 * Holt has a template for each tag, so the id comes from the project and the name, which they
 * share.
 */
export function clientTemplateId(projectId: string, name: string): string {
  const digest = createHash('sha256').update(`${projectId}\0${name}`).digest()
  return `tm${BigInt(`0x${digest.toString('hex')}`)
    .toString(36)
    .slice(-idLength)}`
}

/** A template that a client named by its id, and the tag after it, if there was one. */
interface NamedById {
  readonly name: string
  readonly tag: string | null
}

/**
 * Returns the template that an id of `clientTemplateId` names. Returns null for every other
 * reference, which includes ids that Holt's own clients know.
 */
export async function namedById(
  { store }: { readonly store: { readonly db: Queries } },
  projectId: string,
  reference: string,
): Promise<NamedById | null> {
  const [, id, tag = null] = shape.exec(reference) ?? []
  if (id === undefined) return null
  const rows = await store.db
    .selectFrom('templates')
    .select('name')
    .distinct()
    .where('project_id', 'in', readableBy(projectId))
    .execute()
  const named = rows.find(({ name }) => clientTemplateId(projectId, name) === id)
  return named === undefined ? null : { name: named.name, tag }
}
