import { useMemo } from 'react'
import { shownText } from '../parts/shown-text.ts'
import { changedLines, type DifferentLine, lineDifference } from './line-difference.ts'

/** The maximum number of lines of a difference that are shown. */
const mostLines = 500

/** The maximum number of characters of a line that are shown. */
const mostCharacters = 1_000

const marks: Readonly<Record<DifferentLine['side'], string>> = { both: ' ', mine: '+', theirs: '-' }

/** The difference between the text in the editor and the one in the runtime. */
export function Difference({ mine, theirs }: { readonly mine: string; readonly theirs: string }) {
  const lines = useMemo(() => changedLines(lineDifference(mine, theirs), mostLines), [mine, theirs])
  return (
    <>
      <p className="muted">Lines with - are in the runtime only, and lines with + only here.</p>
      {/* It scrolls, so the keyboard must reach it. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls */}
      <section className="difference" aria-label="The difference" tabIndex={0}>
        {lines.map((line, at) =>
          line === null ? (
            <div key={at} className="muted">
              …
            </div>
          ) : (
            <div key={at} className={line.side}>
              {marks[line.side]} {shown(line.text)}
            </div>
          ),
        )}
      </section>
    </>
  )
}

function shown(text: string): string {
  const cut = text.length > mostCharacters ? `${text.slice(0, mostCharacters)}…` : text
  return shownText(cut)
}
