interface TextBlockProps {
  /** Names the text for readers of screens. */
  readonly label: string
  readonly text: string
}

/** Shows a text of several lines as it is. It may be hostile. */
export function TextBlock({ label, text }: TextBlockProps) {
  return (
    <section aria-label={label}>
      <pre className="wrapped">{text}</pre>
    </section>
  )
}
