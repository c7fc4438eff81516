import type { Runtime } from '@holt/sdk'

/** The properties of a dialog of one runtime. */
export interface RuntimeDialogProps {
  readonly runtime: Runtime
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
}
