import { type TemplateData, writtenOut } from '@holt/sdk'
import type { Column } from '../parts/data-table.tsx'
import { PlainTable } from '../parts/plain-table.tsx'

type Pair = readonly [name: string, value: string]

const starts = {
  restored:
    'It is running in each new runtime. Runtimes of another size, and of the class container, start it at boot.',
  boot: 'Each runtime starts it at boot.',
} as const

/** The settings of the runtimes of a template, and what they start. */
export function TemplateSettings({ template }: { readonly template: TemplateData }) {
  const { cpu, memory_mib, disk_mib, user, workdir, env, labels, facts, ports } = template
  const settings: readonly Pair[] = [
    ['vCPUs', String(cpu)],
    ['Memory', `${memory_mib} MiB`],
    ['Disk', `${disk_mib} MiB`],
    ['User', user],
    ['Directory', workdir],
    ...(ports.length === 0 ? [] : [['Ports of EXPOSE', ports.join(', ')] as const]),
  ]
  return (
    <>
      <section aria-label="Settings">
        <h2>Settings</h2>
        <Pairs label="Settings of its runtimes" pairs={settings} />
      </section>
      <Commands template={template} />
      <PairSection title="Environment" pairs={Object.entries(env)} />
      <PairSection title="Facts" pairs={Object.entries(facts)} />
      <PairSection title="Labels" pairs={Object.entries(labels)} />
    </>
  )
}

function Commands({
  template: { start_cmd, ready_cmd, on_restore, starts: when },
}: {
  readonly template: TemplateData
}) {
  const commands: readonly Pair[] = [
    ...(start_cmd === null ? [] : [['start_cmd', start_cmd] as const]),
    ...(ready_cmd === null ? [] : [['ready_cmd', ready_cmd] as const]),
    ...(on_restore === null ? [] : [['on_restore', on_restore] as const]),
  ]
  return (
    <section aria-label="What it starts">
      <h2>What it starts</h2>
      {commands.length === 0 ? (
        <p className="muted">Nothing: its runtimes begin without an application.</p>
      ) : (
        <Pairs label="Commands of the template" pairs={commands} />
      )}
      {when === null ? null : <p className="muted">{starts[when]}</p>}
    </section>
  )
}

function PairSection({ title, pairs }: { readonly title: string; readonly pairs: readonly Pair[] }) {
  if (pairs.length === 0) return null
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <Pairs label={`${title} of the template`} pairs={pairs} />
    </section>
  )
}

const columns: readonly Column<Pair>[] = [
  { title: 'Name', cell: ([name]) => <bdi>{writtenOut(name)}</bdi> },
  { title: 'Value', cell: ([, value]) => <code className="wrapped">{writtenOut(value)}</code> },
]

function Pairs({ label, pairs }: { readonly label: string; readonly pairs: readonly Pair[] }) {
  return <PlainTable label={label} rows={pairs} columns={columns} idOf={([name]) => name} />
}
