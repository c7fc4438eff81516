import type { CreateBuildInput } from '@holt/sdk'
import { useNavigate } from '@tanstack/react-router'
import { BusyButton } from '../parts/busy-button.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'

/** Repeats a build that has steps in place of a Dockerfile. A client wrote them. */
export function RepeatBuild({ request }: { readonly request: Readonly<Record<string, unknown>> }) {
  const navigate = useNavigate()
  const building = useHoltMutation({
    run: (holt) => holt.builds.create(request as unknown as CreateBuildInput),
    changes: [['builds'], ['templates']],
    onSuccess: ({ build_id }) => void navigate({ to: '/builds/$buildId', params: { buildId: build_id } }),
  })
  return (
    <>
      <p>This build has no Dockerfile. A client described it by these fields, which can be sent again:</p>
      <pre className="wrapped">{JSON.stringify(request, null, 2)}</pre>
      {building.isError ? <ErrorNotice error={building.error} /> : null}
      <div className="actions">
        <BusyButton className="button primary" isBusy={building.isPending} onPress={() => building.mutate()}>
          Build again
        </BusyButton>
      </div>
    </>
  )
}
