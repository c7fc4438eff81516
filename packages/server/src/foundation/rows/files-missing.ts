/**
 * The beginning of the reasons of rows that have failed only because a file is missing. They are
 * ready again when the file is present.
 */
export const filesMissingPattern = '{"code":"files_missing",%'

/** Returns the reason for a thing whose file is not in the state directory. */
export function filesMissing(file: string): { readonly code: string; readonly message: string } {
  return { code: 'files_missing', message: `The file ${file} is not in the state directory.` }
}

/** Returns the reason for a thing whose artifact is neither in the object store nor on a host. */
export function artifactLost(id: string): { readonly code: string; readonly message: string } {
  return { code: 'files_missing', message: `${id} is not in the object store, and no host has it.` }
}

/** Returns true if a row has failed only because a file is missing. */
export function lacksFiles({ state, state_reason_json: reason }: { state: string; state_reason_json: string | null }) {
  return state === 'failed' && reason?.startsWith(filesMissingPattern.slice(0, -1)) === true
}
