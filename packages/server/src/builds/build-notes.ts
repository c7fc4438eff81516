/**
 * The kinds of notes. `requests`: the builds that clients of E2B have requested. `uploads`: the
 * files that these clients have uploaded by a hash, and the marks of used addresses.
 */
type NoteKind = 'requests' | 'uploads'

/** The place of a note. */
export interface NotePlace {
  readonly kind: NoteKind
  readonly projectId: string
  /** A file name without directories. */
  readonly name: string
}

/** The notes of a project of one kind. */
export type NotesOf = Omit<NotePlace, 'name'>

/** A note with its text. */
export interface Note {
  readonly name: string
  readonly text: string
  /** The time of its last change, in milliseconds since 1970 UTC. */
  readonly changedAt: number
}

/**
 * Small texts that builds of clients of E2B need before Holt's own build has a row. They are files
 * on a single machine, and rows in a fleet, whose hosts share them.
 */
export interface BuildNotes {
  names(of: NotesOf): Promise<readonly string[]>
  /** Returns the notes with their texts. */
  list(of: NotesOf): Promise<readonly Note[]>
  /** Returns the text of a note. Null: there is none. */
  read(place: NotePlace): Promise<string | null>
  /** Writes a note whole, so that a reader sees the old text or the new one. */
  write(place: NotePlace, text: string): Promise<void>
  /** Adds an empty note. Returns false if it exists. */
  add(place: NotePlace): Promise<boolean>
  remove(place: NotePlace): Promise<void>
  /** Returns the ids of the projects with notes. */
  projects(): Promise<readonly string[]>
  /** Removes all notes of a project. */
  removeAll(projectId: string): Promise<void>
}
