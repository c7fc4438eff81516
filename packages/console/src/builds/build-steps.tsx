import type { Build, BuildStepState } from '@holt/sdk'
import { writtenOut } from '@holt/sdk'
import { useMemo } from 'react'
import type { Column } from '../parts/data-table.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { durationText, useNow } from '../parts/spans.ts'
import type { LogLine } from './follow-log.ts'

interface BuildStepsProps {
  readonly label: string
  readonly build: Pick<Build, 'steps'>
  /** The lines of the log, whose first ones of a step say when it began. */
  readonly lines: readonly LogLine[]
}

/** The steps of a build in the order of their run, with their states and times. */
export function BuildSteps({ label, build: { steps }, lines }: BuildStepsProps) {
  const now = useNow()
  const begun = useMemo(() => beginnings(lines), [lines])
  const hasStages = steps.some(({ stage }) => stage !== null && !/^\d+$/.test(stage))
  const columns: readonly Column<BuildStepState>[] = [
    { title: 'Step', cell: ({ step, text }) => <StepText step={step} text={text} /> },
    ...(hasStages
      ? [{ title: 'Stage', cell: ({ stage }: BuildStepState) => <bdi>{writtenOut(stage ?? '')}</bdi> }]
      : []),
    { title: 'State', cell: ({ state }) => <span className={`state ${state}`}>{state}</span> },
    { title: 'Time', cell: (step) => timeOf(step, { begunAt: begun.get(step.step), now }) },
  ]
  return <PlainTable label={label} rows={steps} columns={columns} idOf={({ step }) => String(step)} />
}

function StepText({ step, text }: Pick<BuildStepState, 'step' | 'text'>) {
  return (
    <span className="step">
      <span className="muted">{step}</span> <code className="wrapped">{writtenOut(text)}</code>
    </span>
  )
}

function timeOf(
  { state, duration_ms }: BuildStepState,
  { begunAt, now }: { readonly begunAt: number | undefined; readonly now: number },
): string {
  if (state === 'cached') return 'cached'
  if (duration_ms !== null) return durationText(duration_ms)
  return state === 'running' && begunAt !== undefined ? durationText(Math.max(0, now - begunAt)) : ''
}

/** Returns the time of the first line of each step, in milliseconds since 1970. */
function beginnings(lines: readonly LogLine[]): ReadonlyMap<number, number> {
  const first = new Map<number, number>()
  for (const { step, at } of lines) if (step !== null && !first.has(step)) first.set(step, at)
  return first
}
