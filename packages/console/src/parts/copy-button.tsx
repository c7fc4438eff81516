import { useEffect, useState } from 'react'
import { Button } from 'react-aria-components'

/** The time for which the button says that it has copied, in milliseconds. */
const saidMs = 2_000

interface CopyProps {
  readonly text: string
  /** Names what is copied: `the token`. */
  readonly what: string
}

/** Copies a text. It says so if the browser does not allow that, as without TLS. */
export function CopyButton({ text, what }: CopyProps) {
  const [said, setSaid] = useState<'copied' | 'failed' | null>(null)
  useEffect(() => {
    if (said === null) return
    const timer = setTimeout(() => setSaid(null), saidMs)
    return () => clearTimeout(timer)
  }, [said])
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setSaid('copied')
    } catch {
      setSaid('failed')
      // Browsers refuse this without TLS, and where a person has forbidden it.
    }
  }
  return (
    <>
      <Button className="button" onPress={() => void copy()}>
        Copy {what}
      </Button>
      <span role="status" className="muted">
        {said === null ? '' : said === 'copied' ? 'Copied.' : 'The browser does not allow it: select and copy it.'}
      </span>
    </>
  )
}
