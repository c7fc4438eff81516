import type { Commands } from '@holt/sdk'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components'
import { EmptyState } from '../parts/empty-state.tsx'
import { Foreign } from '../parts/foreign.tsx'
import { NeedsRunning } from '../runtime/needs-running.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { placeOf } from './kept-tabs.ts'
import { OpenForm } from './open-form.tsx'
import { OpenTerminals } from './open-terminals.ts'
import { RunningElsewhere } from './running-elsewhere.tsx'
import { ShellPanel } from './shell-panel.tsx'
import './terminal.css'

/** The tab of a runtime with its terminals. */
export function TerminalTab() {
  return (
    <NeedsRunning what="Its terminals">
      {({ runtime_id, commands }) => <Terminals key={runtime_id} runtimeId={runtime_id} commands={commands} />}
    </NeedsRunning>
  )
}

function Terminals({ runtimeId, commands }: { readonly runtimeId: string; readonly commands: Commands }) {
  const { session } = useSession()
  const mayWrite = mayUse(session, 'runtime:write')
  const [open] = useState(() => new OpenTerminals({ commands, place: placeOf(session.key_id, runtimeId), mayWrite }))
  useEffect(() => {
    void open.open()
    return () => open.close()
  }, [open])
  const { terminals, selected } = useSyncExternalStore(open.subscribe, open.view)
  const shown = selected === null ? undefined : open.session(selected)
  const view = terminals.find(({ commandId }) => commandId === selected)
  return (
    <section className="terminals" aria-label="Terminals">
      {mayWrite ? <OpenForm open={open} /> : null}
      {shown === undefined || view === undefined ? (
        <EmptyState title="No terminal is open">
          <p>A terminal is a shell in the runtime. It continues when you leave this page or close the browser.</p>
          {mayWrite ? <p>Open one here, or in a shell:</p> : <p>Open one in a shell:</p>}
          <pre className="wrapped">holt shell {runtimeId}</pre>
        </EmptyState>
      ) : (
        <Tabs selectedKey={view.commandId} onSelectionChange={(key) => open.select(String(key))}>
          <TabList
            className="tabs"
            aria-label="Open terminals"
            items={terminals.map((each) => ({ ...each, id: each.commandId }))}
          >
            {({ id, name, state }) => (
              <Tab id={id} className="tab">
                <Foreign>{name}</Foreign>
                {state.type === 'ended' ? ' (ended)' : ''}
              </Tab>
            )}
          </TabList>
          <TabPanel id={view.commandId}>
            <ShellPanel key={view.commandId} open={open} session={shown} view={view} mayWrite={mayWrite} />
          </TabPanel>
        </Tabs>
      )}
      <RunningElsewhere runtimeId={runtimeId} open={open} here={terminals} />
    </section>
  )
}
