import { answeredWrongly } from '../answers/answered-wrongly.ts'
import { isWithin } from '../answers/words.ts'
import type { GuestChange } from './change-schema.ts'
import type { GuestFile, GuestFiles, GuestUpload } from './file-schemas.ts'
import type { ReplaceRequest } from './search-requests.ts'
import type { GuestReplaced, GuestSearchItem } from './search-schemas.ts'

// An answer can be well formed and yet not match the request. Each function here throws
// `EngineError` `wrong_answer` in that case.

/** Returns a file. Its path must be the requested one. */
export function fileAsked(path: string, file: GuestFile): GuestFile {
  if (file.path !== path) throw answeredWrongly('another file than the requested one')
  return file
}

/** Returns the progress of an upload. It must be the requested upload. */
export function uploadAsked(asked: Pick<GuestUpload, 'path' | 'upload_id'>, upload: GuestUpload): GuestUpload {
  if (upload.path !== asked.path || upload.upload_id !== asked.upload_id)
    throw answeredWrongly('another upload than the requested one')
  return upload
}

/** Returns the entries of a directory. Each must be below it. */
export function entriesAsked(path: string, files: GuestFiles): GuestFiles {
  if (files.entries.some((entry) => entry.path === path || !isWithin(path, entry.path)))
    throw answeredWrongly('a file outside the requested directory')
  return files
}

/** Returns the result of a replacement. Each file must be one of those named in the request. */
export function replacedAsked({ path, paths }: ReplaceRequest, replaced: GuestReplaced): GuestReplaced {
  const isAsked = (one: string) => (path === null ? paths?.includes(one) === true : isWithin(path, one))
  if (!replaced.files.every((file) => isAsked(file.path))) throw answeredWrongly('a file that was not to be changed')
  return replaced
}

/** Passes on items as long as they are about a path or something below it. */
export async function* itemsWithin<Item extends GuestSearchItem | GuestChange>(
  path: string,
  items: AsyncGenerator<Item>,
): AsyncGenerator<Item> {
  for await (const item of items) {
    if (!namesOf(item).every((name) => isWithin(path, name))) throw answeredWrongly('a path outside the requested one')
    yield item
  }
}

function namesOf(item: GuestSearchItem | GuestChange): readonly string[] {
  if (!('path' in item)) return []
  return 'from' in item ? [item.path, item.from] : [item.path]
}
