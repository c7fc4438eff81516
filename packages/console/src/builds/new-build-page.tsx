import { getRouteApi } from '@tanstack/react-router'
import { Answer } from '../parts/answer.tsx'
import { useHoltQuery } from '../session/use-holt-query.ts'
import '../styles/builds.css'
import { emptyForm, formOf } from './build-form.ts'
import { NewBuild } from './new-build.tsx'
import { RepeatBuild } from './repeat-build.tsx'

const route = getRouteApi('/templates/build')

/** The page that builds a template: a new one, or an earlier build with changes. */
export function NewBuildPage() {
  const { from, name = '', tag = '' } = route.useSearch()
  return (
    <>
      <h1>Build a template</h1>
      {from === undefined ? (
        <NewBuild
          key={`${name}:${tag}`}
          initial={{ ...emptyForm, fields: { ...emptyForm.fields, name, tag } }}
          earlier={null}
        />
      ) : (
        <FromEarlier key={from} buildId={from} />
      )}
    </>
  )
}

function FromEarlier({ buildId }: { readonly buildId: string }) {
  const earlier = useHoltQuery({
    key: ['build-request', buildId],
    read: async (holt, signal) => {
      const build = await holt.builds.get(buildId, { signal })
      return { build: build.toJSON(), ...(await build.request({ signal })) }
    },
    refetchInterval: false,
  })
  return (
    <Answer query={earlier} what="the earlier build">
      {({ build, request, build_secrets, registry_user }) => {
        const { name, tag } = build
        if (request !== null && typeof request.dockerfile !== 'string') return <RepeatBuild request={request} />
        return (
          <>
            {request === null ? (
              <p className="notice warning">
                The Dockerfile of the build {buildId} is not kept: it is too long, or too old. Paste it here.
              </p>
            ) : null}
            {registry_user === null ? null : (
              <p className="notice warning">
                The earlier build signed in to a registry as {registry_user}. This page does not: for a private image,
                use <code>holt template build --registry-user</code>.
              </p>
            )}
            <NewBuild initial={formOf(request ?? { name, tag }, build_secrets)} earlier={buildId} />
          </>
        )
      }}
    </Answer>
  )
}
