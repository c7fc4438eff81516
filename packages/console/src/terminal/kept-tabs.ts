/** A terminal that this tab of the browser has open. */
export interface KeptTerminal {
  readonly commandId: string
  /** The name that a person gave it. */
  readonly name: string
  /** The shell of its form, to open it again; empty: the login shell. */
  readonly shell: string
}

/** The terminals of one runtime in this tab of the browser. */
export interface KeptTabs {
  readonly terminals: readonly KeptTerminal[]
  /** The command of the terminal that is shown; null for the first one. */
  readonly selected: string | null
}

const nothing: KeptTabs = { terminals: [], selected: null }

/** Returns the place of a runtime's terminals, for one key. */
export function placeOf(keyId: string, runtimeId: string): string {
  return `holt.terminals.${keyId}.${runtimeId}`
}

/** Reads the terminals that were open before a reload. */
export function readTabs(place: string): KeptTabs {
  try {
    const { terminals, selected } = JSON.parse(sessionStorage.getItem(place) ?? '{}') as Partial<KeptTabs>
    return { terminals: (terminals ?? []).filter(isKept), selected: selected ?? null }
  } catch {
    return nothing // It was written by another version of the console.
  }
}

/** Keeps the open terminals for a reload. */
export function keepTabs(place: string, tabs: KeptTabs): void {
  const text = JSON.stringify(tabs)
  if (tabs.terminals.length === 0) sessionStorage.removeItem(place)
  else if (sessionStorage.getItem(place) !== text) sessionStorage.setItem(place, text)
}

function isKept(terminal: Partial<KeptTerminal>): boolean {
  return [terminal.commandId, terminal.name, terminal.shell].every((text) => typeof text === 'string')
}
