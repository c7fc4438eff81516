import { type Build, writtenOut } from '@holt/sdk'
import { plainLine } from '../parts/shown-text.ts'

/** Says why a build failed: the step, its line and output, and what to do. */
export function BuildFailure({ build: { reason, steps } }: { readonly build: Pick<Build, 'reason' | 'steps'> }) {
  if (reason === null) return null
  const { code, message, hint, details } = reason
  const step = steps.find((one) => one.step === reason.step)
  const [first = '', ...rest] = message.split('\n')
  const output = typeof details.output === 'string' ? details.output : rest.join('\n')
  return (
    <section className="notice error" role="alert" aria-label="Why the build failed">
      <p>
        <strong>{plainLine(first)}</strong>
      </p>
      {step === undefined ? null : (
        <p>
          Step {step.step}
          {step.line === null ? '' : `, line ${step.line} of the Dockerfile`}: <code>{writtenOut(step.text)}</code>
        </p>
      )}
      {output.trim() === '' ? null : (
        <pre className="wrapped">{output.trimEnd().split('\n').map(plainLine).join('\n')}</pre>
      )}
      {hint === null ? null : <p>{plainLine(hint)}</p>}
      <p className="muted">
        Code <code>{code}</code>
      </p>
    </section>
  )
}
