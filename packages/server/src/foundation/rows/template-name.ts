import type { TemplateRow } from '../store/tables.ts'

/** The tag of a reference without one. */
export const defaultTag = 'latest'

/** Returns a template's name for users, with the tag unless it is the default one. */
export function templateName({ name, tag }: Pick<TemplateRow, 'name' | 'tag'>): string {
  return tag === defaultTag ? name : `${name}:${tag}`
}
