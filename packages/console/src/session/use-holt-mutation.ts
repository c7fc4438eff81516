import type { Holt } from '@holt/sdk'
import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import { useSession } from './session-context.ts'

interface HoltMutation<Input, Data> {
  readonly run: (holt: Holt, input: Input) => Promise<Data>
  /** The queries that the change makes old: their keys below the id of the session's key. */
  readonly changes?: readonly (readonly (string | number | null)[])[]
  readonly onSuccess?: (data: Data, input: Input) => void
  /** True if the input or the answer has a secret. The cache forgets both with the page's part. */
  readonly isSecret?: boolean
}

/** Changes something with the client of the session, and reads again what changed. */
export function useHoltMutation<Input = void, Data = unknown>({
  run,
  changes = [],
  onSuccess,
  isSecret = false,
}: HoltMutation<Input, Data>): UseMutationResult<Data, Error, Input> {
  const { holt, session } = useSession()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (input: Input) => run(holt, input),
    ...(isSecret ? { gcTime: 0 } : {}),
    onSuccess: (data, input) => {
      for (const key of changes) void queries.invalidateQueries({ queryKey: [session.key_id, ...key] })
      onSuccess?.(data, input)
    },
  })
}
