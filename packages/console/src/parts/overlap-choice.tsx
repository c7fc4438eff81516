import { Choice } from './fields.tsx'

interface OverlapProps {
  /** Names the secret that is replaced: `The old secret works for`. */
  readonly label: string
  /** The time for which it still works, in seconds. */
  readonly value: string
  readonly set: (value: string) => void
}

/** The choice of the time for which a secret works after its rotation. */
export function OverlapChoice(props: OverlapProps) {
  return (
    <Choice {...props}>
      <option value="0">no longer: it ends at once</option>
      <option value="3600">an hour more</option>
      <option value="86400">a day more</option>
      <option value="604800">a week more</option>
    </Choice>
  )
}
