/**
 * What the reasons begin with of rows that have failed for a missing file alone, and no others:
 * they are ready again when the file is there.
 */
export const filesMissingPattern = '{"code":"files_missing",%'

/** Why nothing can be made from something whose file is not in the state directory. */
export function filesMissing(file: string): { readonly code: string; readonly message: string } {
  return { code: 'files_missing', message: `The file ${file} is not in the state directory.` }
}

/** Whether a row has failed for a missing file alone. */
export function lacksFiles({ state, state_reason_json: reason }: { state: string; state_reason_json: string | null }) {
  return state === 'failed' && reason?.startsWith(filesMissingPattern.slice(0, -1)) === true
}
