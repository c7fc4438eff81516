import { type CodeContext, HoltApiError } from '@holt/sdk'
import { useState } from 'react'
import { Answer } from '../parts/answer.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { NotRunning } from '../runtime/not-running.tsx'
import { useRuntimeId } from '../runtime/runtime-route.ts'
import { useInsideQuery } from '../runtime/use-inside-query.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { CellInput } from './cell-input.tsx'
import { CellView } from './cell-view.tsx'
import { ContextBar } from './context-bar.tsx'
import { useCells } from './use-cells.ts'
import '../styles/runtime-tabs.css'
import '../styles/code.css'

/**
 * The tab of code contexts: code that runs with the variables of earlier code, as in a notebook.
 */
export function CodeTab() {
  const { query, runtime, runs } = useInsideQuery({
    key: ['contexts'],
    read: (runtime, signal) => runtime.code.contexts.list({ limit: 100 }, { signal }).all(),
  })
  if (runtime === undefined) return null
  if (!runs) return <NotRunning runtime={runtime} what="Its code contexts" />
  if (query.error instanceof HoltApiError && query.error.code === 'code_interpreter_missing')
    return (
      <EmptyState title="This template has no code interpreter">
        <p>Its commands run in a terminal. A runtime of the template code-interpreter runs code here, in cells:</p>
        <pre>holt create -t code-interpreter -n lab</pre>
      </EmptyState>
    )
  return (
    <Answer query={query} what="the code contexts">
      {(contexts) => <Notebook contexts={contexts} readContexts={() => void query.refetch()} />}
    </Answer>
  )
}

interface NotebookProps {
  readonly contexts: readonly CodeContext[]
  readonly readContexts: () => void
}

function Notebook({ contexts, readContexts }: NotebookProps) {
  const { session } = useSession()
  const id = useRuntimeId()
  const [chosen, choose] = useState(defaultPython)
  const { cells, run } = useCells(id, readContexts)
  const mayRun = mayUse(session, 'runtime:write')
  return (
    <>
      <ContextBar runtimeId={id} contexts={contexts} chosen={chosen} choose={choose} mayChange={mayRun} />
      {cells.length === 0 ? (
        <EmptyState title="No code has run here">
          <p>Variables stay for the next cell of the same context, until it is restarted.</p>
          <p>This tab of the browser keeps its cells. Code continues when you leave the page.</p>
        </EmptyState>
      ) : (
        cells.map((cell) => <CellView key={cell.number} cell={cell} />)
      )}
      {mayRun ? (
        <CellInput
          run={({ code, timeoutSecs }) => {
            const isKnown = contexts.some(({ context_id }) => context_id === chosen)
            run({ code, timeoutSecs, where: isKnown ? { context: chosen } : { language: 'python' } })
          }}
        />
      ) : (
        <p className="muted">Your key may not run code: that needs the scope runtime:write.</p>
      )}
    </>
  )
}

/** The default context of Python. It is in the list only after its first run. */
const defaultPython = 'default-python'
