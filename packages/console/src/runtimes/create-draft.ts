import { type CreateFields, emptyFields } from './create-form.ts'

const drafts = new Map<string, CreateFields>()

/**
 * Returns the typed fields of the form of a create, by the key of a session. So a closed form, a
 * left page and an ended session lose nothing. They are in memory only, because an environment may
 * have secrets.
 */
export function draftOf(keyId: string): CreateFields {
  return drafts.get(keyId) ?? emptyFields
}

/** Keeps what is typed; null after it has been used. */
export function keepDraft(keyId: string, fields: CreateFields | null): void {
  if (fields === null) drafts.delete(keyId)
  else drafts.set(keyId, fields)
}
