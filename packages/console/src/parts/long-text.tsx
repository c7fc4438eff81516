import { useState } from 'react'
import { Button } from 'react-aria-components'

/** The characters that are shown at first. A line of megabytes would hold up the page. */
const shownAtFirst = 20_000

interface LongTextProps {
  readonly text: string
  readonly label?: string
  /** The characters that are shown at first. Default 20,000. */
  readonly most?: number
}

/** Shows text of a runtime, which may be long. Its lines are broken to fit. */
export function LongText({ text, label, most = shownAtFirst }: LongTextProps) {
  const [all, setAll] = useState(false)
  const isCut = !all && text.length > most
  const shown = <pre className="wrapped">{isCut ? text.slice(0, most) : text}</pre>
  return (
    <>
      {label === undefined ? shown : <figure aria-label={label}>{shown}</figure>}
      {isCut ? (
        <Button className="button" onPress={() => setAll(true)}>
          Show all {text.length.toLocaleString('en')} characters
        </Button>
      ) : null}
    </>
  )
}
