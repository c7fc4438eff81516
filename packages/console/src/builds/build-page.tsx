import type { BuildHandle } from '@holt/sdk'
import { getRouteApi, Link } from '@tanstack/react-router'
import { bytesText } from '../parts/amount-text.ts'
import { Answer } from '../parts/answer.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Facts } from '../parts/facts.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { plainLine } from '../parts/shown-text.ts'
import { durationText, useNow } from '../parts/spans.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import '../styles/builds.css'
import { BuildFailure } from './build-failure.tsx'
import { BuildLogView } from './build-log.tsx'
import { BuildSteps } from './build-steps.tsx'
import { hasEnded, labelOf } from './build-text.ts'
import { useBuildLog } from './use-build-log.ts'
import { useBuild } from './use-builds.ts'

const route = getRouteApi('/builds/$buildId')

/** The page of one build: its steps, its log and its end. It is the same after a reload. */
export function BuildPage() {
  const { buildId } = route.useParams()
  const build = useBuild(buildId)
  return (
    <Answer query={build} what="the build">
      {(handle) => <ShownBuild key={handle.build_id} build={handle} />}
    </Answer>
  )
}

function ShownBuild({ build }: { readonly build: BuildHandle }) {
  const log = useBuildLog(build.build_id)
  const { status, steps, warnings, ignored } = build
  return (
    <>
      <div className="title">
        <h1>Build of {labelOf(build)}</h1>
        <span className={`state ${status}`}>{status}</span>
        <BuildActions build={build} />
      </div>
      <Progress build={build} />
      <BuildFailure build={build} />
      {status === 'ready' ? <WhatNext build={build} /> : null}
      <BuildFacts build={build} />
      {warnings.map((warning) => (
        <p key={warning} className="notice warning">
          Warning: {plainLine(warning)}
        </p>
      ))}
      {steps.length === 0 ? null : (
        <section aria-label="Steps of the build">
          <h2>Steps</h2>
          <BuildSteps label="Steps" build={build} lines={log.lines} />
        </section>
      )}
      {ignored.length === 0 ? null : (
        <section aria-label="Ignored instructions">
          <h2>Ignored</h2>
          <ul>
            {ignored.map(({ instruction, line, reason }) => (
              <li key={`${line} ${instruction} ${reason}`}>
                {line === null ? '' : `Line ${line}: `}
                <code>{plainLine(instruction)}</code>. {plainLine(reason)}
              </li>
            ))}
          </ul>
        </section>
      )}
      <BuildLogView log={log} steps={steps.map(({ step }) => step)} fileName={`${build.build_id}.log`} />
    </>
  )
}

function BuildActions({ build }: { readonly build: BuildHandle }) {
  const { session } = useSession()
  const cancelling = useHoltMutation({
    run: () => build.cancel(),
    changes: [['build', build.build_id], ['builds'], ['templates']],
  })
  if (!mayUse(session, 'template:write')) return null
  return (
    <div className="actions">
      {hasEnded(build.status) ? (
        <Link className="button" to="/templates/build" search={{ from: build.build_id }}>
          Edit and build again
        </Link>
      ) : (
        <BusyButton className="button danger" isBusy={cancelling.isPending} onPress={() => cancelling.mutate()}>
          Cancel the build
        </BusyButton>
      )}
      {cancelling.isError ? <ErrorNotice error={cancelling.error} /> : null}
    </div>
  )
}

/** Says what the build does now. Readers of screens hear each change. */
function Progress({ build: { status, steps } }: { readonly build: BuildHandle }) {
  const running = steps.find(({ state }) => state === 'running')
  const ended = steps.filter(({ state }) => state === 'done' || state === 'cached' || state === 'skipped').length
  return (
    <>
      {hasEnded(status) || steps.length === 0 ? null : (
        <progress aria-label="Ended steps" value={ended} max={steps.length} />
      )}
      <p role="status">
        {running === undefined
          ? sentences[status]
          : `Step ${running.step} of ${steps.length} runs: ${plainLine(running.text)}`}
      </p>
    </>
  )
}

const sentences: Readonly<Record<BuildHandle['status'], string>> = {
  queued: 'The build waits for its turn.',
  pulling: 'The build fetches its base.',
  building: 'The build runs its steps.',
  exporting: 'The build writes the image.',
  snapshotting: 'The build starts the application and takes the checkpoint.',
  ready: 'The template is ready.',
  failed: 'The build failed. The template is as it was before.',
  cancelled: 'The build was cancelled. The template is as it was before.',
}

function WhatNext({ build }: { readonly build: BuildHandle }) {
  const { session } = useSession()
  return (
    <div className="actions">
      {mayUse(session, 'runtime:write') ? (
        <Link className="button primary" to="/runtimes" search={{ template: labelOf(build) }}>
          Start a runtime
        </Link>
      ) : null}
      <Link className="button" to="/templates/$template" params={{ template: build.template_id }}>
        Show the template
      </Link>
    </div>
  )
}

function BuildFacts({ build }: { readonly build: BuildHandle }) {
  const now = useNow()
  const { build_id, created_at, started_at, duration_ms, size_bytes, steps } = build
  const cached = steps.filter(({ state }) => state === 'cached').length
  const took = duration_ms ?? (started_at === null ? null : Math.max(0, now - Date.parse(started_at)))
  return (
    <Facts
      entries={[
        ['Build', <code key="id">{build_id}</code>],
        ['Requested', <Moment key="at" at={created_at} now={now} />],
        ['Time', took === null ? 'not begun' : durationText(took)],
        ['Cached steps', `${cached} of ${steps.length}`],
        ['Size', size_bytes === null ? null : bytesText(size_bytes)],
      ]}
    />
  )
}
