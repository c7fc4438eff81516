interface UseBarProps {
  readonly label: string
  readonly used: number
  /** The maximum that may be used. Null: no limit. */
  readonly most: number | null
  /** Writes an amount for people. */
  readonly text: (amount: number) => string
}

/** Shows a use of a limit as a bar with its numbers. Without a limit it has the number alone. */
export function UseBar({ label, used, most, text }: UseBarProps) {
  const numbers = most === null ? `${text(used)}, no limit` : `${text(used)} of ${text(most)}`
  return (
    <div className="use-bar">
      <span>{label}</span> <span className="muted">{numbers}</span>
      {most === null ? null : (
        <meter aria-label={`${label}: ${numbers}`} min={0} max={Math.max(most, used, 1)} value={used} />
      )}
    </div>
  )
}
