import { FieldError, Input, Label, TextField } from 'react-aria-components'

interface NameFieldProps {
  readonly name: string
  readonly set: (name: string) => void
  /** The fault of the name that was sent last; null if it had none. */
  readonly problem: string | null
}

/** The field for the name of a file. It has the focus when its dialog opens. */
export function NameField({ name, set, problem }: NameFieldProps) {
  return (
    <TextField
      className="field"
      autoFocus
      value={name}
      onChange={set}
      isInvalid={problem !== null}
      // The browser would refuse to send a name that was at fault before.
      validationBehavior="aria"
    >
      <Label>Name</Label>
      <Input autoComplete="off" spellCheck="false" />
      <FieldError>{problem}</FieldError>
    </TextField>
  )
}
