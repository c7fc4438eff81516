import { Choice, Field, Lines } from '../parts/fields.tsx'
import type { CreateFields } from './create-form.ts'
import { useCreateNames } from './use-create-names.ts'

interface FieldsetProps {
  readonly fields: CreateFields
  readonly change: (name: keyof CreateFields, value: string) => void
}

/** The form of a duration. */
const duration = String.raw`\d+[smhd]?|none`

/** The fields of a create: all of the API. */
export function CreateFieldset({ fields, change }: FieldsetProps) {
  const names = useCreateNames()
  const bound = (name: keyof CreateFields) => ({
    value: fields[name],
    set: (value: string) => change(name, value),
  })
  return (
    <>
      <Field label="Template" {...bound('template')} hint="base-small" options={names.templates} />
      <Field label="Snapshot, instead" {...bound('snapshot')} hint="none" options={names.snapshots} />
      <Field label="Name" {...bound('name')} hint="none" />
      <Field label="vCPUs" {...bound('cpu')} hint="as the template" pattern="\d+(\.\d+)?" />
      <Field label="Memory" {...bound('memory')} hint="512MiB, 8GB" />
      <Field label="Disk" {...bound('disk')} hint="20GiB" />
      <Lines label="Environment" {...bound('env')} />
      <Lines label="Metadata" {...bound('metadata')} />
      <Field label="Runs for" {...bound('timeout')} hint="90, 30m, 2h, 1d or none" pattern={duration} />
      <Choice label="Then" {...bound('on_timeout')}>
        <option value="">the default: pause, if it can be paused</option>
        <option value="pause">pause</option>
        <option value="terminate">terminate</option>
      </Choice>
      <Field label="Pauses without use after" {...bound('idle_timeout')} hint="10m, or none" pattern={duration} />
      <Choice label="A use resumes it" {...bound('auto_resume')}>
        <option value="">the default: yes</option>
        <option value="yes">yes</option>
        <option value="no">no</option>
      </Choice>
      <Choice label="Network" {...bound('network')}>
        <option value="">the default: nothing, or the vendor of an agent template</option>
        <option value="none">nothing</option>
        <option value="stored">a stored policy</option>
        <option value="own">a policy of its own</option>
      </Choice>
      {fields.network === 'stored' ? (
        <Field label="Network policy" {...bound('network_policy')} hint="name or id" options={names.policies} />
      ) : null}
      {fields.network === 'own' ? <PolicyFields bound={bound} /> : null}
      <Field label="Secrets" {...bound('secrets')} hint="names" options={names.secrets} />
      <Choice label="Isolation" {...bound('isolation')}>
        <option value="">the default of the service</option>
        <option value="gvisor">gvisor</option>
        <option value="container">container</option>
      </Choice>
      <Field label="Cloud" {...bound('cloud')} hint="that of the service" />
      <Field label="Region" {...bound('region')} hint="that of the service" />
      <Field label="Apart from runtimes with the label" {...bound('spread')} hint="none" pattern="[A-Za-z0-9._\-]+" />
    </>
  )
}

interface PolicyFieldsProps {
  readonly bound: (name: keyof CreateFields) => { readonly value: string; readonly set: (value: string) => void }
}

/** The fields of a policy of one runtime. */
function PolicyFields({ bound }: PolicyFieldsProps) {
  return (
    <>
      <Lines label="Hosts" {...bound('hosts')} hint="api.example.com, *.example.com:443,8443" />
      <Field label="Presets" {...bound('presets')} hint="npm, pypi, github, debian" />
      <Choice label="A host may be *" {...bound('all_hosts')}>
        <option value="">no</option>
        <option value="yes">yes: every public host</option>
      </Choice>
      <Lines label="Networks that no host reaches" {...bound('deny')} hint="203.0.113.0/24" />
    </>
  )
}
