import { useEffect, useState } from 'react'
import type { ShellSession } from './shell-session.ts'

/** The place of the choice in the storage of this origin. */
const place = 'holt.terminal.aloud'

/** Returns true if the output is for readers of screens, and a function that changes that. */
export function useReadAloud({ screen }: ShellSession): readonly [boolean, (isOn: boolean) => void] {
  const [isOn, setOn] = useState(() => localStorage.getItem(place) === 'yes')
  useEffect(() => screen.readAloud(isOn), [screen, isOn])
  const change = (next: boolean) => {
    localStorage.setItem(place, next ? 'yes' : 'no')
    setOn(next)
  }
  return [isOn, change]
}
