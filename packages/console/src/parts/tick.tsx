interface TickProps {
  readonly label: string
  readonly isTicked: boolean
  readonly set: (isTicked: boolean) => void
}

/** A box to tick. */
export function Tick({ label, isTicked, set }: TickProps) {
  return (
    <label className="tick">
      <input type="checkbox" checked={isTicked} onChange={({ target }) => set(target.checked)} /> {label}
    </label>
  )
}
