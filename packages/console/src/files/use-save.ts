import { type Files, type FileVersion, HoltApiError } from '@holt/sdk'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { editableBytes } from './file-text.ts'
import { useFiles } from './files-context.ts'

/** A save that would have overwritten somebody else's change. */
export interface Conflict {
  readonly mine: string
  /** The present version; null if the file is gone. */
  readonly theirs: FileVersion | null
}

type Saved =
  | { readonly type: 'saved'; readonly version: FileVersion }
  | { readonly type: 'conflict'; readonly conflict: Conflict }

interface Saving {
  readonly path: string
  /** The version that was opened. */
  readonly opened: FileVersion
  readonly onSaved: () => void
}

/** Saves the text of a file in place of the version that was opened, or shows why not. */
export function useSave({ path, opened, onSaved }: Saving) {
  const { files } = useFiles()
  const [written, setWritten] = useState<{ readonly over: FileVersion; readonly version: FileVersion } | null>(null)
  const [conflict, setConflict] = useState<Conflict | null>(null)
  // A version that was written here replaces the opened one, until the file is opened again.
  const base = written?.over === opened ? written.version : opened
  const saving = useMutation({
    mutationFn: ({ text, over }: { readonly text: string; readonly over: FileVersion | null }) =>
      saveText(files, path, { text, over }),
    onSuccess: (saved) => {
      if (saved.type === 'conflict') return setConflict(saved.conflict)
      setConflict(null)
      setWritten({ over: opened, version: saved.version })
      onSaved()
    },
  })
  return {
    saving,
    conflict,
    version: base.etag,
    save: (text: string) => saving.mutate({ text, over: base }),
    overwrite: ({ mine, theirs }: Conflict) => saving.mutate({ text: mine, over: theirs }),
    forget: () => setConflict(null),
  }
}

/** Writes a text in place of one version; null stands for no file. */
async function saveText(
  files: Files,
  path: string,
  { text, over }: { readonly text: string; readonly over: FileVersion | null },
): Promise<Saved> {
  const bytes = new TextEncoder().encode(text)
  const write = async (version: FileVersion | null): Promise<Saved> => {
    const { etag } = await files.write(path, bytes, version === null ? { overwrite: false } : { ifMatch: version.etag })
    return { type: 'saved', version: { bytes, etag: etag ?? '*' } }
  }
  try {
    return await write(over)
  } catch (error) {
    if (!isConflict(error)) throw error
  }
  const theirs = await present(files, path)
  if (theirs !== null && isSame(theirs.bytes, bytes)) return { type: 'saved', version: theirs }
  // Another version with the same content is nobody's change: a copy, or a moved file.
  if (theirs !== null && over !== null && isSame(theirs.bytes, over.bytes)) return write(theirs)
  return { type: 'conflict', conflict: { mine: text, theirs } }
}

function isConflict(error: unknown): boolean {
  return error instanceof HoltApiError && (error.code === 'precondition_failed' || error.code === 'already_exists')
}

async function present(files: Files, path: string): Promise<FileVersion | null> {
  try {
    return await files.readVersion(path, { end: editableBytes + 1 })
  } catch (error) {
    if (error instanceof HoltApiError && error.code === 'path_not_found') return null
    throw error
  }
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at])
}
