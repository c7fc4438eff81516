import type { Store } from '../foundation/store/open-store.ts'
import type { BuildNotes, Note, NotePlace, NotesOf } from './build-notes.ts'

/** Notes in rows, which all hosts of a fleet read. */
export class RowNotes implements BuildNotes {
  readonly #store: Pick<Store, 'db'>
  readonly #now: () => number

  constructor({ store, now }: { readonly store: Pick<Store, 'db'>; readonly now: () => number }) {
    this.#store = store
    this.#now = now
  }

  async names(of: NotesOf): Promise<readonly string[]> {
    return (await this.#all(of).select('name').execute()).map(({ name }) => name)
  }

  async list(of: NotesOf): Promise<readonly Note[]> {
    const rows = await this.#all(of).select(['name', 'text', 'changed_at']).execute()
    return rows.map(({ name, text, changed_at }) => ({ name, text, changedAt: changed_at }))
  }

  async read({ name, ...of }: NotePlace): Promise<string | null> {
    const row = await this.#all(of).select('text').where('name', '=', name).executeTakeFirst()
    return row?.text ?? null
  }

  async write(place: NotePlace, text: string): Promise<void> {
    const changed = { text, changed_at: this.#now() }
    await this.#store.db
      .insertInto('build_notes')
      .values({ ...keyOf(place), ...changed })
      .onConflict((conflict) => conflict.columns(['project_id', 'kind', 'name']).doUpdateSet(changed))
      .execute()
  }

  async add(place: NotePlace): Promise<boolean> {
    const added = await this.#store.db
      .insertInto('build_notes')
      .values({ ...keyOf(place), text: '', changed_at: this.#now() })
      .onConflict((conflict) => conflict.doNothing())
      .returning('name')
      .executeTakeFirst()
    return added !== undefined
  }

  async remove({ kind, projectId, name }: NotePlace): Promise<void> {
    await this.#store.db
      .deleteFrom('build_notes')
      .where('project_id', '=', projectId)
      .where('kind', '=', kind)
      .where('name', '=', name)
      .execute()
  }

  async projects(): Promise<readonly string[]> {
    const rows = await this.#store.db.selectFrom('build_notes').select('project_id').distinct().execute()
    return rows.map(({ project_id }) => project_id)
  }

  async removeAll(projectId: string): Promise<void> {
    await this.#store.db.deleteFrom('build_notes').where('project_id', '=', projectId).execute()
  }

  #all({ kind, projectId }: NotesOf) {
    return this.#store.db.selectFrom('build_notes').where('project_id', '=', projectId).where('kind', '=', kind)
  }
}

function keyOf({ projectId, kind, name }: NotePlace) {
  return { project_id: projectId, kind, name }
}
