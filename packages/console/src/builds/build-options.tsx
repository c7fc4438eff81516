import { useId } from 'react'
import { Button } from 'react-aria-components'
import { Choice, Field, Lines } from '../parts/fields.tsx'
import type { BuildFields, SecretField } from './build-form.ts'

interface BuildOptionsProps {
  readonly fields: BuildFields
  readonly set: (fields: Partial<BuildFields>) => void
  readonly secrets: readonly SecretField[]
  readonly setSecrets: (secrets: readonly SecretField[]) => void
}

/** The options of a build beside its Dockerfile. */
export function BuildOptions({ fields, set, secrets, setSecrets }: BuildOptionsProps) {
  const bound = (name: keyof BuildFields) => ({
    value: fields[name],
    set: (value: string) => set({ [name]: value }),
  })
  return (
    <>
      <Field label="Name of the template" {...bound('name')} hint="web" pattern="[a-z0-9][a-z0-9\-]{0,62}" />
      <Field label="Tag" {...bound('tag')} hint="latest" />
      <Field label="Start command" {...bound('start_cmd')} hint="none: python app.py" />
      <p className="muted">It is started at the end of the build. Runtimes begin with it running.</p>
      <Field label="Ready command" {...bound('ready_cmd')} hint="none: something listens" />
      <p className="muted">It is tried until it exits with 0. Then the start command is ready.</p>
      <details>
        <summary>More options</summary>
        <div className="form">
          <Field label="vCPUs" {...bound('cpu')} hint="1" pattern="\d+(\.\d+)?" />
          <Field label="Memory" {...bound('memory')} hint="1GiB" />
          <Field label="Disk" {...bound('disk')} hint="4GiB" />
          <Lines label="Environment of its runtimes" {...bound('env')} />
          <Field label="Run in each new runtime" {...bound('on_restore')} hint="none" />
          <Lines label="Build arguments" {...bound('build_args')} />
          <Field label="Stage to stop at" {...bound('target')} hint="the last one" />
          <Choice label="Results of earlier builds" {...bound('no_cache')}>
            <option value="">are used</option>
            <option value="yes">are not used: every step runs</option>
          </Choice>
        </div>
      </details>
      <BuildSecrets secrets={secrets} set={setSecrets} />
    </>
  )
}

interface BuildSecretsProps {
  readonly secrets: readonly SecretField[]
  readonly set: (secrets: readonly SecretField[]) => void
}

/** The secrets of a build, for `RUN --mount=type=secret,id=ID`. */
function BuildSecrets({ secrets, set }: BuildSecretsProps) {
  const change = (at: number, secret: Partial<SecretField>) =>
    set(secrets.map((one, index) => (index === at ? { ...one, ...secret } : one)))
  return (
    <fieldset className="form">
      <legend>Build secrets</legend>
      <p className="muted">
        For <code>RUN --mount=type=secret,id=ID</code>. A value is in no image and no log, and is not kept.
      </p>
      {secrets.map(({ id, value }, at) => (
        <div key={at} className="secret">
          <Field label={`Id of secret ${at + 1}`} value={id} set={(text) => change(at, { id: text })} hint="npm" />
          <SecretValue at={at} value={value} set={(text) => change(at, { value: text })} />
          <Button className="button" onPress={() => set(secrets.filter((_, index) => index !== at))}>
            Remove secret {at + 1}
          </Button>
        </div>
      ))}
      <div>
        <Button className="button" onPress={() => set([...secrets, { id: '', value: '' }])}>
          Add a secret
        </Button>
      </div>
    </fieldset>
  )
}

interface SecretValueProps {
  readonly at: number
  readonly value: string
  readonly set: (value: string) => void
}

/** The value of a secret, which may have several lines, as a file has. */
function SecretValue({ at, value, set }: SecretValueProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>Value of secret {at + 1}</label>
      <textarea
        id={id}
        className="masked"
        rows={1}
        value={value}
        onChange={({ target }) => set(target.value)}
        autoComplete="off"
        spellCheck={false}
      />
    </div>
  )
}
