import type { Port } from '@holt/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { BusyButton } from '../parts/busy-button.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { useSession } from '../session/session-context.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { useHoltQuery } from '../session/use-holt-query.ts'
import { canOpen, openPort } from './open-port.ts'

interface PortAccessProps {
  readonly runtimeId: string
  readonly port: number
}

/** Shows the addresses and the token of a port, and makes it public or private. */
export function PortAccess({ runtimeId, port }: PortAccessProps) {
  const { access, changing, asked, ask } = usePortAccess({ runtimeId, port })
  const found = access.data
  const failure = changing.isError ? <ErrorNotice error={changing.error} /> : null
  return (
    <section className="card section port" aria-label={`Port ${port}`}>
      <h2>Port {port}</h2>
      {access.isError ? <ErrorNotice error={access.error} /> : null}
      {asked === null ? failure : null}
      {found === undefined ? (
        access.isPending ? (
          <p role="status">Making a token…</p>
        ) : null
      ) : (
        <>
          {found.listening ? null : <p>Nothing listens on it now: until then, its addresses answer 502.</p>}
          <Addresses port={found} runtimeId={runtimeId} />
          <Token key={found.token} port={found} />
          <div className="actions">
            <Button
              className="button"
              isDisabled={changing.isPending}
              onPress={() => (found.public ? changing.mutate('close') : ask('publish'))}
            >
              {found.public ? 'Make it private' : 'Make it public…'}
            </Button>
            <Button className="button danger" isDisabled={changing.isPending} onPress={() => ask('rotate')}>
              Rotate the tokens…
            </Button>
          </div>
        </>
      )}
      {asked === null ? null : (
        <ConfirmDialog
          isOpen
          onOpenChange={() => ask(null)}
          title={questions[asked].title(port)}
          action={questions[asked].action}
          isPending={changing.isPending}
          onConfirm={() => changing.mutate(asked)}
        >
          <p>{questions[asked].text}</p>
          {failure}
        </ConfirmDialog>
      )}
    </section>
  )
}

const questions = {
  rotate: {
    title: (port: number) => `Rotate the tokens of port ${port}?`,
    action: 'Rotate',
    text: 'Every earlier token of this port stops working, also those of others, and open connections are cut.',
  },
  publish: {
    title: (port: number) => `Make port ${port} public?`,
    action: 'Make it public',
    text: 'Anyone who knows the address reaches the server inside, without a token. You can make it private again.',
  },
} as const

/** Reads the access to a port, and changes it after a question. */
function usePortAccess({ runtimeId: id, port }: PortAccessProps) {
  const { session } = useSession()
  const queries = useQueryClient()
  const [asked, ask] = useState<keyof typeof questions | null>(null)
  const key = ['runtime', id, 'port', port]
  // Each read makes a token, so it is read once.
  const access = useHoltQuery({
    key,
    read: async (holt, signal) => (await holt.runtimes.get(id, { signal })).ports.get(port, { signal }),
    refetchInterval: false,
  })
  const changing = useHoltMutation<'rotate' | 'publish' | 'close', Port>({
    run: async (holt, change) => {
      const { ports } = await holt.runtimes.get(id)
      return change === 'rotate' ? ports.rotate(port) : ports.setPublic(port, change === 'publish')
    },
    changes: [['runtime', id, 'inside', 'ports']],
    onSuccess: (changed) => {
      queries.setQueryData([session.key_id, ...key], changed)
      ask(null)
    },
  })
  return { access, changing, asked, ask }
}

/** The two forms of the address. The one for browsers is another origin than the console. */
function Addresses({ runtimeId, port }: { readonly runtimeId: string; readonly port: Port }) {
  // The token that is shown works for a day. It is for programs, and in no address.
  const opening = useHoltMutation<void, Port>({
    run: async (holt) => (await holt.runtimes.get(runtimeId)).ports.get(port.port, { once: true }),
    onSuccess: openPort,
    isSecret: true,
  })
  return (
    <dl className="lines">
      <div>
        <dt>For browsers and curl: the port is in the host name</dt>
        <dd className="address">
          <code>{port.url}</code>
        </dd>
        <dd>
          {canOpen(port) ? (
            <BusyButton className="button primary" isBusy={opening.isPending} onPress={() => opening.mutate()}>
              Open in a new tab
            </BusyButton>
          ) : null}
          {opening.isError ? <ErrorNotice error={opening.error} /> : null}
        </dd>
        <dd className="muted">
          Each port is an origin of its own there. Its page can read nothing of the console, and of no other port.
        </dd>
      </div>
      <div>
        <dt>For programs: the port is in the path</dt>
        <dd className="address">
          <code>{port.path_url}</code> <CopyButton text={port.path_url} what="the address" />
        </dd>
        <dd className="muted">
          It works where names below the domain are not resolved, as in Node and Python. A browser shows its pages
          without cookies and storage, because this is the address of the API.
        </dd>
      </div>
    </dl>
  )
}

/** The token of a private port. It is shown only when somebody asks. */
function Token({ port: { public: isPublic, token, expires_at } }: { readonly port: Port }) {
  const [shown, show] = useState(false)
  if (isPublic) return <p>The port is public, and needs no token.</p>
  return (
    <div className="lines">
      <p>
        A private port needs a token: as the header <code>X-Holt-Port-Token</code>, which no log keeps, or as{' '}
        <code>?holt_token=</code>. This one works until {new Date(expires_at).toLocaleString()}, for anyone who has it.
      </p>
      <div className="actions">
        <Button className="button" onPress={() => show(!shown)}>
          {shown ? 'Hide the token' : 'Show the token'}
        </Button>
        <CopyButton text={token} what="the token" />
      </div>
      {shown ? <code className="address">{token}</code> : null}
    </div>
  )
}
