import { useLayoutEffect, useMemo, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Choice } from '../parts/fields.tsx'
import { saveBlob } from '../parts/save-blob.ts'
import type { BuildLog, LogLine } from './follow-log.ts'

/** The maximum number of lines that are in the document at first, and that a press adds. */
const shownAtFirst = 500
const shownMore = 2_000

/** The maximum number of characters of a line in the document. The saved log has all of them. */
const shownCharacters = 2_000

interface BuildLogProps {
  readonly log: BuildLog
  /** The numbers of the steps that can be chosen. */
  readonly steps: readonly number[]
  readonly fileName: string
}

/** The log of a build. It stays at its end while a person looks there. */
export function BuildLogView({ log, steps, fileName }: BuildLogProps) {
  const [step, setStep] = useState('')
  const [most, setMost] = useState(shownAtFirst)
  const lines = useMemo(
    () => log.lines.filter((line) => line.level !== 'debug' && (step === '' || line.step === Number(step))),
    [log.lines, step],
  )
  const shown = lines.slice(-most)
  const box = useStickToEnd(shown.at(-1)?.cursor)
  const save = () => saveBlob(fileName, log.lines.map(({ text }) => `${text}\n`).join(''))
  return (
    <section aria-label="Log of the build">
      <div className="title">
        <h2>Log</h2>
        <div className="actions">
          <Choice label="Step" value={step} set={setStep}>
            <option value="">all</option>
            {steps.map((number) => (
              <option key={number} value={number}>
                {number}
              </option>
            ))}
          </Choice>
          <Button className="button" onPress={save} isDisabled={log.lines.length === 0}>
            Save the log
          </Button>
        </div>
      </div>
      {log.error === null ? null : <ErrorNotice error={log.error} />}
      {log.lost === 0 ? null : <p className="muted">{log.lost} earlier lines are no longer kept.</p>}
      {lines.length > shown.length ? (
        <p>
          <Button className="button" onPress={() => setMost(most + shownMore)}>
            Show earlier lines ({lines.length - shown.length})
          </Button>
        </p>
      ) : null}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: without a stop, keys could not scroll it */}
      <section className="log" ref={box} aria-label="Lines of the log" tabIndex={0}>
        {shown.length === 0 ? (
          <p className="muted">{log.isWhole ? 'It has no lines.' : 'No line was written yet.'}</p>
        ) : (
          shown.map((line) => <Line key={line.cursor} line={line} />)
        )}
      </section>
    </section>
  )
}

function Line({ line: { step, level, text } }: { readonly line: LogLine }) {
  const cut = text.length - shownCharacters
  return (
    <div className={`log-line ${level}`}>
      <span className="log-step">{step ?? ''}</span>
      <bdi className="log-text">
        {level === 'info' ? '' : `${level}: `}
        {text.slice(0, shownCharacters)}
        {cut > 0 ? <em> … {cut} more characters, in the saved log</em> : null}
      </bdi>
    </div>
  )
}

/** Scrolls a box to its end whenever it grows, unless a person has scrolled away from the end. */
function useStickToEnd(lastCursor: number | undefined) {
  const box = useRef<HTMLElement>(null)
  const isAtEnd = useRef(true)
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    const look = () => {
      isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 40
    }
    element.addEventListener('scroll', look, { passive: true })
    return () => element.removeEventListener('scroll', look)
  }, [])
  useLayoutEffect(() => {
    const element = box.current
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight
  }, [lastCursor])
  return box
}
