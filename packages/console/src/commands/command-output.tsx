import { useEffect, useRef } from 'react'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { useOutput } from './use-output.ts'

interface OutputProps {
  readonly runtimeId: string
  readonly commandId: string
}

/** The distance from the end, in pixels, within which the view follows new output. */
const followPx = 40

/** The output of a command as plain text. It follows the end, unless somebody has scrolled up. */
export function CommandOutput({ runtimeId, commandId }: OutputProps) {
  const { pieces, isCut, follows, error } = useOutput({ runtimeId, commandId })
  const place = useRef<HTMLPreElement>(null)
  const atEnd = useRef(true)
  useEffect(() => {
    const pre = place.current
    if (pre !== null && atEnd.current) pre.scrollTop = pre.scrollHeight
  }, [pieces])
  return (
    <>
      {isCut ? (
        <p className="muted">
          Earlier output is not shown. <code>holt logs</code> prints all that is kept.
        </p>
      ) : null}
      <section aria-label="Output">
        <pre
          ref={place}
          className="wrapped command-output"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
          tabIndex={0}
          onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
            atEnd.current = scrollHeight - scrollTop - clientHeight < followPx
          }}
        >
          {pieces.map(({ id, stream, text }) => (
            <span key={id} className={stream}>
              {text}
            </span>
          ))}
        </pre>
      </section>
      <p role="status" className="muted">
        {follows ? 'Following the output…' : pieces.length === 0 ? 'The command has written nothing.' : ''}
      </p>
      {error === null ? null : <ErrorNotice error={error} />}
    </>
  )
}
