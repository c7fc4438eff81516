import type { ReactNode } from 'react'
import { Button } from 'react-aria-components'

interface BusyButtonProps {
  readonly className: string
  readonly type?: 'submit'
  /** True while its work is under way. It then keeps the focus, and does nothing. */
  readonly isBusy: boolean
  readonly isDisabled?: boolean
  readonly onPress?: () => void
  readonly children: ReactNode
}

/**
 * A button whose work takes a while. `isPending` of React Aria would announce the button by its id,
 * and that announcement outlives a dialog that closes.
 */
export function BusyButton({ type, isBusy, onPress, children, ...more }: BusyButtonProps) {
  return (
    <>
      <Button
        {...more}
        // A form is sent once, also if somebody presses again.
        type={type === 'submit' && !isBusy ? 'submit' : 'button'}
        onPress={() => {
          if (!isBusy) onPress?.()
        }}
      >
        {children}
      </Button>
      <span role="status" className="hidden">
        {isBusy ? 'In progress' : ''}
      </span>
    </>
  )
}
