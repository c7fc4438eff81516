import { ErrorNotice } from '../parts/error-notice.tsx'
import { LongText } from '../parts/long-text.tsx'
import { outputText, shownText } from '../parts/shown-text.ts'
import type { CellOutput } from './cell-output.ts'
import { ResultView } from './result-view.tsx'
import type { Cell } from './use-cells.ts'

const ends: Readonly<Record<string, string>> = {
  timed_out: 'It was interrupted at its time limit. The variables stay.',
  interrupted: 'It was interrupted. The variables stay.',
  kernel_died: 'The process of the context ended, and its variables are gone.',
  out_of_memory: 'The context ran out of memory, and its variables are gone.',
}

/** A cell: the code that was run, and its output as it comes. */
export function CellView({ cell: { number, code, output, error, isForgotten } }: { readonly cell: Cell }) {
  return (
    <article className="card cell" aria-label={`Cell ${number}`} aria-busy={output.end === null && error === null}>
      <LongText text={code} label={`Code of cell ${number}`} most={5_000} />
      {output.parts.map((part, at) =>
        part.type === 'value' ? (
          <ResultView key={at} data={part.data} />
        ) : (
          <div key={at} className={part.type}>
            <LongText text={outputText(part.text)} label={part.type} />
          </div>
        ),
      )}
      {output.error === null ? null : (
        <div className="stderr">
          <p className="denied wrapped">
            <strong>{shownText(output.error.name)}</strong>: {shownText(outputText(output.error.value))}
          </p>
          <LongText text={outputText(output.error.traceback.join('\n'))} label="Traceback" />
        </div>
      )}
      {error === null ? null : <ErrorNotice error={error} />}
      <p className="muted" role="status">
        {isForgotten ? 'The interpreter no longer has its output.' : error === null ? stateText(output) : ''}
      </p>
    </article>
  )
}

function stateText({ end, isQueued, isCut }: CellOutput): string {
  if (end === null) return isQueued ? 'It waits for earlier code of its context…' : 'It runs…'
  const { status, duration_ms, execution_count, state_lost } = end
  return [
    ends[status] ?? '',
    state_lost && ends[status] === undefined ? 'The variables of earlier runs were lost.' : '',
    isCut ? 'There was more output than is shown.' : '',
    `${execution_count === null ? '' : `Run ${execution_count}, `}${(duration_ms / 1000).toFixed(2)} s`,
  ]
    .filter(Boolean)
    .join(' ')
}
