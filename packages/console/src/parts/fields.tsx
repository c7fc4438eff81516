import { type ReactNode, useId } from 'react'

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly set: (value: string) => void
  readonly hint: string
  readonly pattern?: string
  readonly isRequired?: boolean
  /** Values that the browser offers. */
  readonly options?: readonly string[] | undefined
}

/** A field of one line. */
export function Field({ label, value, set, hint, pattern, isRequired, options }: FieldProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        value={value}
        onChange={({ target }) => set(target.value)}
        placeholder={hint}
        pattern={pattern}
        required={isRequired}
        list={options === undefined ? undefined : `${id}-options`}
        autoComplete="off"
      />
      {options === undefined ? null : (
        <datalist id={`${id}-options`}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </div>
  )
}

interface LinesProps extends Pick<FieldProps, 'label' | 'value' | 'set'> {
  readonly hint?: string
}

/** A field with several lines, by default with a `KEY=VALUE` in each. */
export function Lines({ label, value, set, hint = 'KEY=VALUE' }: LinesProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea id={id} value={value} onChange={({ target }) => set(target.value)} placeholder={hint} rows={2} />
    </div>
  )
}

/** A choice among options. */
export function Choice({ label, value, set, children }: Omit<FieldProps, 'hint'> & { readonly children: ReactNode }) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={({ target }) => set(target.value)}>
        {children}
      </select>
    </div>
  )
}
