import { shownText } from './shown-text.ts'

interface TextBlockProps {
  /** Names the text for readers of screens. */
  readonly label: string
  readonly text: string
}

/** Shows a text of several lines, which may be hostile. Hidden characters are written out. */
export function TextBlock({ label, text }: TextBlockProps) {
  return (
    <section aria-label={label}>
      <pre className="wrapped">{shownText(text.replaceAll('\r\n', '\n'))}</pre>
    </section>
  )
}
