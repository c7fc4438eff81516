import { useEffect, useState } from 'react'
import { Button } from 'react-aria-components'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { type Notice, type NoticeAction, removeNotice, removeNotices, useNotices } from '../parts/notices.ts'

/**
 * The time after which a notice without failures leaves, in milliseconds. The page offers the
 * actions of the notice too.
 */
const shownMs = 20_000

/** The maximum number of failures that a notice shows with their reasons. */
const mostFailures = 20

/** The notices of jobs, beside every page. */
export function NoticeList() {
  const notices = useNotices()
  // Another session has other runtimes.
  useEffect(() => removeNotices, [])
  return (
    <>
      {/* It is there before its text, so that readers of screens say each new text. */}
      <div className="hidden" role="status">
        {notices.at(-1)?.text}
      </div>
      <section className="notices" aria-label="Notices">
        {notices.map((notice) => (
          <NoticeItem key={notice.id} notice={notice} />
        ))}
      </section>
    </>
  )
}

function NoticeItem({ notice }: { readonly notice: Notice }) {
  const { id, text, progress, failures = [], actions = [] } = notice
  const [asked, setAsked] = useState<NoticeAction | null>(null)
  const held = useStay({ id, isKept: asked !== null || progress !== undefined || failures.length > 0 })
  const run = (action: NoticeAction) => {
    if (progress === undefined) removeNotice(id)
    action.run()
  }
  return (
    <div className="card notice-item" {...held}>
      <p>{text}</p>
      {progress === undefined ? null : (
        <progress aria-label={text} value={progress.done} max={progress.of}>
          {progress.done} of {progress.of}
        </progress>
      )}
      {failures.length === 0 ? null : <Failures failures={failures} />}
      <div className="actions end">
        {actions.map((action) => (
          <Button
            key={action.title}
            className="button"
            onPress={() => (action.question === undefined ? run(action) : setAsked(action))}
          >
            {action.title}
          </Button>
        ))}
        {progress === undefined ? (
          <Button className="button quiet" onPress={() => removeNotice(id)}>
            Dismiss
          </Button>
        ) : null}
      </div>
      <ConfirmDialog
        isOpen={asked !== null}
        onOpenChange={() => setAsked(null)}
        title={`${asked?.title ?? ''}?`}
        action="Delete"
        isPending={false}
        onConfirm={() => {
          setAsked(null)
          if (asked !== null) run(asked)
        }}
      >
        <p>{asked?.question}</p>
      </ConfirmDialog>
    </div>
  )
}

interface Stay {
  readonly id: Notice['id']
  /** True if the notice stays until somebody dismisses it. */
  readonly isKept: boolean
}

/** Removes a notice after a while. Returns the handlers by which a notice in use does not leave. */
function useStay({ id, isKept }: Stay) {
  const [isHeld, setHeld] = useState(false)
  const stays = isHeld || isKept
  useEffect(() => {
    if (stays) return
    const timer = setTimeout(() => removeNotice(id), shownMs)
    return () => clearTimeout(timer)
  }, [stays, id])
  const hold = () => setHeld(true)
  const release = () => setHeld(false)
  return { onMouseEnter: hold, onMouseLeave: release, onFocus: hold, onBlur: release }
}

function Failures({ failures }: { readonly failures: NonNullable<Notice['failures']> }) {
  return (
    <details open>
      <summary>What failed</summary>
      <ul className="failures" aria-label="What failed">
        {failures.slice(0, mostFailures).map(({ label, error }) => (
          <li key={label}>
            <strong>{label}</strong>
            <ErrorNotice error={error} />
          </li>
        ))}
      </ul>
      {failures.length > mostFailures ? <p>{failures.length - mostFailures} more failed.</p> : null}
    </details>
  )
}
