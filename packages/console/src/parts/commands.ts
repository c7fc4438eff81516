import { useEffect, useSyncExternalStore } from 'react'

/** A command of the palette. */
export interface Command {
  readonly id: string
  readonly title: string
  /** The single key that runs it, such as `c`. People can turn such keys off. */
  readonly shortcut?: string
  run(): void
}

const lists = new Map<symbol, readonly Command[]>()
const listeners = new Set<() => void>()
let known: readonly Command[] = []

/** Offers the commands of a page in the palette while the page is shown. Memoize the list. */
export function useCommands(commands: readonly Command[]): void {
  useEffect(() => {
    const place = Symbol('commands')
    lists.set(place, commands)
    tell()
    return () => {
      lists.delete(place)
      tell()
    }
  }, [commands])
}

/** Returns the commands of the pages that are shown. */
export function usePageCommands(): readonly Command[] {
  return useSyncExternalStore(subscribe, pageCommands)
}

/** Returns the commands of the pages that are shown now. */
export function pageCommands(): readonly Command[] {
  return known
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function tell(): void {
  known = [...lists.values()].flat()
  for (const listener of listeners) listener()
}
