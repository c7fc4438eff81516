import { useState } from 'react'
import { Button } from 'react-aria-components'
import { LongText } from '../parts/long-text.tsx'
import { shownText } from '../parts/shown-text.ts'

/** The number of entries of a list or an object that are shown at first. */
const entriesAtFirst = 100

/** The characters of a text that are shown at first. */
const textAtFirst = 500

interface TreeProps {
  readonly value: unknown
  readonly name?: string
  readonly isOpen?: boolean
}

/** A JSON value, whose parts open. Only what is open is in the document. */
export function JsonTree({ value, name, isOpen = false }: TreeProps) {
  const [open, setOpen] = useState(isOpen)
  const label = name === undefined ? null : <code className="wrapped">{shownText(name)}: </code>
  if (typeof value !== 'object' || value === null) {
    const text = shownText(JSON.stringify(value) ?? 'undefined')
    return text.length > textAtFirst ? (
      <div>
        {label}
        <LongText text={text} most={textAtFirst} />
      </div>
    ) : (
      <div>
        {label}
        <code className="wrapped">{text}</code>
      </div>
    )
  }
  const entries = Object.entries(value)
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`
  return (
    <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {label}
        <code>{size}</code>
      </summary>
      {open ? <Entries entries={entries} /> : null}
    </details>
  )
}

function Entries({ entries }: { readonly entries: readonly (readonly [string, unknown])[] }) {
  const [shown, setShown] = useState(entriesAtFirst)
  return (
    <ul className="tree">
      {entries.slice(0, shown).map(([key, value]) => (
        <li key={key}>
          <JsonTree name={key} value={value} />
        </li>
      ))}
      {entries.length > shown ? (
        <li>
          <Button className="button quiet" onPress={() => setShown(shown + entriesAtFirst)}>
            Show more of {entries.length.toLocaleString('en')}
          </Button>
        </li>
      ) : null}
    </ul>
  )
}
