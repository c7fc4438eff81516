import { Children, type ReactNode } from 'react'
import { shownText } from './shown-text.ts'

/**
 * Shows text that others have written: names, notes, reasons. Characters that hide or reorder text
 * are written out, so it cannot look like another one. Elements stay as they are. Tables, facts and
 * titles of dialogs use it for everything that they show.
 */
export function Foreign({ children }: { readonly children: ReactNode }) {
  return <>{Children.map(children, (child) => (typeof child === 'string' ? shownText(child) : child))}</>
}
