import { Button } from 'react-aria-components'
import { CheckedField, CheckedLines } from '../parts/checked-field.tsx'
import { issueAt } from '../parts/field-issues.ts'
import { Choice } from '../parts/fields.tsx'
import { Tick } from '../parts/tick.tsx'
import { useHoltQuery } from '../session/use-holt-query.ts'
import { newRule, type PolicyForm, type RuleForm } from './policy-form.ts'

interface PolicyFieldsProps {
  readonly form: PolicyForm
  readonly set: (form: PolicyForm) => void
  /** The error of the last try; null if there is none. */
  readonly error: unknown
}

/** The fields of a policy: its rules, presets and denied networks. */
export function PolicyFormFields({ form, set, error }: PolicyFieldsProps) {
  const setRule = (changed: RuleForm) =>
    set({ ...form, rules: form.rules.map((rule) => (rule.key === changed.key ? changed : rule)) })
  return (
    <>
      <Presets form={form} set={set} error={error} />
      <fieldset className="form">
        <legend>Allowed hosts</legend>
        {form.rules.map((rule, at) => (
          <RuleFields
            key={rule.key}
            rule={rule}
            at={at}
            set={setRule}
            remove={() => set({ ...form, rules: form.rules.filter(({ key }) => key !== rule.key) })}
            error={error}
          />
        ))}
        <div>
          <Button className="button" onPress={() => set({ ...form, rules: [...form.rules, newRule(form)] })}>
            Add a host
          </Button>
        </div>
      </fieldset>
      <Tick
        label="A rule may allow * (every public host)"
        isTicked={form.allowAllHosts}
        set={(allowAllHosts) => set({ ...form, allowAllHosts })}
      />
      <CheckedLines
        label="Denied networks"
        value={form.deny}
        set={(deny) => set({ ...form, deny })}
        placeholder="203.0.113.0/24"
        about="No rule reaches an address in them. One in a line."
        error={error}
        pointer="/deny"
      />
    </>
  )
}

function Presets({ form, set, error }: PolicyFieldsProps) {
  const presets = useHoltQuery({
    key: ['presets'],
    read: (holt, signal) => holt.policies.presets({ signal }),
    refetchInterval: false,
  })
  const issue = issueAt(error, '/include')
  const withOr = (name: string, isTicked: boolean) =>
    isTicked ? [...form.include, name] : form.include.filter((each) => each !== name)
  return (
    <fieldset>
      <legend>Presets, which are named groups of hosts</legend>
      <div className="ticks">
        {(presets.data ?? []).map(({ name }) => (
          <Tick
            key={name}
            label={name}
            isTicked={form.include.includes(name)}
            set={(isTicked) => set({ ...form, include: withOr(name, isTicked) })}
          />
        ))}
      </div>
      {issue === undefined ? null : <p className="issue">{issue}</p>}
    </fieldset>
  )
}

interface RuleProps {
  readonly rule: RuleForm
  readonly at: number
  readonly set: (rule: RuleForm) => void
  readonly remove: () => void
  readonly error: unknown
}

function RuleFields({ rule, at, set, remove, error }: RuleProps) {
  const bound = (name: 'host' | 'ports' | 'protocol' | 'methods' | 'paths') => ({
    value: rule[name],
    set: (text: string) => set({ ...rule, [name]: text }),
    error,
    pointer: `/allow/${at}/${name}`,
  })
  const issue = issueAt(error, `/allow/${at}/protocol`)
  return (
    <fieldset className="rule" aria-label={`Rule ${at + 1}`}>
      <CheckedField label="Host" {...bound('host')} isRequired placeholder="api.example.com" />
      <CheckedField label="Ports" {...bound('ports')} placeholder="443" />
      <div>
        <Choice label="Protocol" {...bound('protocol')}>
          <option value="">by the port</option>
          <option value="tls">tls: the server name must match</option>
          <option value="http">http: the Host of each request must match</option>
          <option value="tcp">tcp: passed on unread</option>
        </Choice>
        {issue === undefined ? null : <p className="issue">{issue}</p>}
      </div>
      <CheckedField label="Methods" {...bound('methods')} placeholder="all" />
      <CheckedField label="Paths" {...bound('paths')} placeholder="all" />
      <Tick label="Every port" isTicked={rule.allPorts} set={(allPorts) => set({ ...rule, allPorts })} />
      <div>
        <Button className="button danger" aria-label={`Remove rule ${at + 1}`} onPress={remove}>
          Remove
        </Button>
      </div>
    </fieldset>
  )
}
