import { Button } from 'react-aria-components'
import type { Screen } from './screen.ts'

/** The keys that the keyboards of phones lack. */
const keys = [
  { name: 'Esc', types: '\u001b' },
  { name: 'Tab', types: '\t' },
  { name: 'Ctrl C', types: '\u0003' },
  { name: 'Ctrl D', types: '\u0004' },
  { name: '↑', types: '\u001b[A', label: 'Up' },
  { name: '↓', types: '\u001b[B', label: 'Down' },
] as const satisfies readonly { readonly name: string; readonly types: string; readonly label?: string }[]

/** Buttons for keys, where there is no keyboard. */
export function KeyRow({ screen }: { readonly screen: Screen }) {
  return (
    <fieldset className="actions key-row" aria-label="Keys">
      {keys.map((key) => (
        <Button
          key={key.name}
          className="button"
          aria-label={'label' in key ? key.label : key.name}
          onPress={() => screen.press(key.types)}
        >
          {key.name}
        </Button>
      ))}
    </fieldset>
  )
}
