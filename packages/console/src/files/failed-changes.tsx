import { writtenOut } from '@holt/sdk'
import { ErrorNotice } from '../parts/error-notice.tsx'
import type { FailedChange } from './change-files.ts'

/** Says which changes failed, and why the first did. */
export function FailedChanges({ failed, done }: { readonly failed: readonly FailedChange[]; readonly done: string }) {
  const [first] = failed
  if (first === undefined) return null
  return (
    <div>
      <p>
        {failed.length} could not be {done}. The first is {writtenOut(first.path)}:
      </p>
      <ErrorNotice error={first.error} />
    </div>
  )
}
