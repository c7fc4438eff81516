import { useEffect, useSyncExternalStore } from 'react'
import { type Command, pageCommands } from '../parts/commands.ts'

const place = 'holt.shortcuts'
const listeners = new Set<() => void>()
let areOn = localStorage.getItem(place) !== 'off'

/**
 * Returns whether single keys run commands, and the function that changes it. People who speak to
 * their computer need them off (WCAG 2.2, 2.1.4).
 */
export function useShortcutsOn(): readonly [boolean, (on: boolean) => void] {
  return [
    useSyncExternalStore(
      (listener) => {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
      () => areOn,
    ),
    setOn,
  ]
}

function setOn(on: boolean): void {
  areOn = on
  localStorage.setItem(place, on ? 'on' : 'off')
  for (const listener of listeners) listener()
}

/** Runs the commands of single keys: those of the shell, and those of the page that is shown. */
export function useShortcuts(commands: readonly Command[]): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!areOn || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return
      const command = [...pageCommands(), ...commands].find(({ shortcut }) => shortcut === event.key)
      if (command === undefined) return
      event.preventDefault()
      command.run()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [commands])
}

/** Returns true if a key is for what has the focus: a field, an editor, a terminal, or a dialog. */
function isTyping(event: KeyboardEvent): boolean {
  // The first element of the path is within the shadow root of an editor.
  const [target] = event.composedPath()
  if (!(target instanceof HTMLElement)) return false
  return (
    target.isContentEditable ||
    target.closest(
      'input:not([type="checkbox"]), textarea, select, [role="dialog"], [role="alertdialog"], [role="menu"]',
    ) !== null
  )
}
