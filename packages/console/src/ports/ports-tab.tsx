import type { PortState } from '@holt/sdk'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { Answer } from '../parts/answer.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import type { Column } from '../parts/data-table.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { Field } from '../parts/fields.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { NotRunning } from '../runtime/not-running.tsx'
import { useRuntimeId } from '../runtime/runtime-route.ts'
import { useInsideQuery } from '../runtime/use-inside-query.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { PortAccess } from './port-access.tsx'
import '../styles/runtime-tabs.css'

/** The tab of a runtime's ports: the listening servers, their addresses, and who may use them. */
export function PortsTab() {
  const { session } = useSession()
  const id = useRuntimeId()
  const { query, runtime, runs, isWatched } = useInsideQuery({
    key: ['ports'],
    read: (runtime, signal) => runtime.ports.list({ signal }),
  })
  const [chosen, choose] = useState<number | null>(null)
  const mayOpen = mayUse(session, 'runtime:write')
  if (runtime === undefined) return null
  if (!runs) return <NotRunning runtime={runtime} what="Its ports" />
  return (
    <>
      <div className="toolbar">
        <p className="muted">
          {isWatched
            ? 'Servers inside appear here as they begin to listen.'
            : 'A look counts as use, and this runtime has an idle timeout. So the list is read only when you ask.'}
        </p>
        <BusyButton className="button" isBusy={query.isFetching && !isWatched} onPress={() => void query.refetch()}>
          Read again
        </BusyButton>
      </div>
      <Answer query={query} what="the ports">
        {(ports) =>
          ports.length === 0 ? (
            <EmptyState title="Nothing listens">
              <p>Start a server inside, on any port of 127.0.0.1 or 0.0.0.0. It needs no setting of the runtime.</p>
              <pre className="wrapped">holt exec -d {id} -- python -u -m http.server 8000</pre>
            </EmptyState>
          ) : (
            <PortTable ports={ports} choose={mayOpen ? choose : null} />
          )
        }
      </Answer>
      {mayOpen ? (
        <>
          <OtherPort choose={choose} />
          {chosen === null ? null : <PortAccess key={chosen} runtimeId={id} port={chosen} />}
        </>
      ) : (
        <p className="muted">Your key may not open ports: that needs the scope runtime:write.</p>
      )}
    </>
  )
}

interface PortTableProps {
  readonly ports: readonly PortState[]
  /** Shows how to reach a port. Null: the key may not. */
  readonly choose: ((port: number) => void) | null
}

/**
 * The maximum number of ports that the table shows. The runtime itself says which ones it listens
 * on.
 */
const mostPorts = 200

function PortTable({ ports, choose }: PortTableProps) {
  return (
    <>
      <PlainTable label="Ports" rows={ports.slice(0, mostPorts)} {...columnsOf(choose)} />
      {ports.length > mostPorts ? <p className="muted">And {ports.length - mostPorts} more.</p> : null}
    </>
  )
}

function columnsOf(choose: PortTableProps['choose']) {
  const reach: Column<PortState> = {
    title: 'Reach it',
    cell: ({ port }) => (
      <Button className="button" onPress={() => choose?.(port)}>
        Reach port {port}…
      </Button>
    ),
  }
  const columns: readonly Column<PortState>[] = [
    { title: 'Port', cell: ({ port }) => port },
    { title: 'Server', cell: ({ listening }) => (listening ? 'listens' : 'nothing listens now') },
    { title: 'Access', cell: (port) => (port.public ? 'public: anyone with the address' : 'private: with a token') },
    ...(choose === null ? [] : [reach]),
  ]
  return { columns, idOf: ({ port }: PortState) => String(port) }
}

/** A port on which nothing listens yet has an address, too. */
function OtherPort({ choose }: { readonly choose: (port: number) => void }) {
  const [text, setText] = useState('')
  const port = /^[1-9]\d{0,4}$/.test(text.trim()) ? Number(text) : null
  return (
    <form
      className="toolbar"
      onSubmit={(event) => {
        event.preventDefault()
        if (port !== null) choose(port)
      }}
    >
      <Field label="Another port" value={text} set={setText} hint="8000" pattern="[1-9][0-9]{0,4}" />
      <Button className="button" type="submit" isDisabled={port === null}>
        Reach this port…
      </Button>
    </form>
  )
}
