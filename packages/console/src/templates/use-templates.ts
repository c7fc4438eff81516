import { useHoltQuery } from '../session/use-holt-query.ts'

/** Returns the templates of the project and of Holt, newest first. */
export function useTemplates() {
  return useHoltQuery({
    key: ['templates', 'list'],
    read: (holt, signal) => holt.templates.list({ limit: 100, signal }).all(),
  })
}

/** Returns the template that a text names: an id, a name or `name:tag`. */
export function useTemplate(reference: string) {
  return useHoltQuery({
    key: ['templates', 'one', reference],
    read: (holt, signal) => holt.templates.get(reference, { signal }),
  })
}
