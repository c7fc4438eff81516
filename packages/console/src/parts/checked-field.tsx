import { type ReactNode, type Ref, useId } from 'react'
import { issueAt } from './field-issues.ts'

interface CheckedProps {
  readonly label: string
  readonly value: string
  readonly set: (value: string) => void
  /** Says what the field is for, below it. */
  readonly about?: string | undefined
  readonly placeholder?: string
  readonly isRequired?: boolean
  /** The error of the last request, and the pointer of this field in its body. */
  readonly error?: unknown
  readonly pointer?: string
}

/** A field of one line, with what the service has against its value. */
export function CheckedField({ label, value, set, placeholder, isRequired = false, ...faults }: CheckedProps) {
  const id = useId()
  return (
    <Checked id={id} label={label} {...faults}>
      {(described) => (
        <input
          id={id}
          value={value}
          onChange={({ target }) => set(target.value)}
          placeholder={placeholder}
          required={isRequired}
          autoComplete="off"
          {...described}
        />
      )}
    </Checked>
  )
}

/** A field of several lines, with what the service has against its value. */
export function CheckedLines({ label, value, set, placeholder, isRequired = false, ...faults }: CheckedProps) {
  const id = useId()
  return (
    <Checked id={id} label={label} {...faults}>
      {(described) => (
        <textarea
          id={id}
          value={value}
          onChange={({ target }) => set(target.value)}
          placeholder={placeholder}
          required={isRequired}
          rows={3}
          {...described}
        />
      )}
    </Checked>
  )
}

interface HiddenProps extends Pick<CheckedProps, 'label' | 'about' | 'isRequired' | 'error' | 'pointer'> {
  /** The input, which alone has the value: no state of the page and no attribute repeats it. */
  readonly input: Ref<HTMLInputElement>
}

/** A field for a value that nobody may see again. Browsers neither show it nor fill it in. */
export function HiddenField({ label, input, isRequired = false, ...faults }: HiddenProps) {
  const id = useId()
  return (
    <Checked id={id} label={label} {...faults}>
      {(described) => (
        <input id={id} ref={input} type="password" autoComplete="off" required={isRequired} {...described} />
      )}
    </Checked>
  )
}

interface CheckedFrame extends Pick<CheckedProps, 'label' | 'about' | 'error' | 'pointer'> {
  readonly id: string
  readonly children: (described: { 'aria-invalid': boolean; 'aria-describedby': string }) => ReactNode
}

function Checked({ id, label, about, error, pointer, children }: CheckedFrame) {
  const issue = pointer === undefined ? undefined : issueAt(error, pointer)
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ 'aria-invalid': issue !== undefined, 'aria-describedby': `${id}-about` })}
      <div id={`${id}-about`}>
        {about === undefined ? null : <p className="about">{about}</p>}
        {issue === undefined ? null : <p className="issue">{issue}</p>}
      </div>
    </div>
  )
}
