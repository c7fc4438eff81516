import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  Button,
  Dialog,
  Heading,
  Menu,
  MenuItem,
  MenuSection,
  MenuTrigger,
  Modal,
  Popover,
} from 'react-aria-components'
import { Foreign } from '../parts/foreign.tsx'
import { keepDraft } from '../runtimes/create-draft.ts'
import { sessionsKey } from '../service/query-client.ts'
import { forgetKey } from '../session/forget-key.ts'
import { useSession } from '../session/session-context.ts'
import { type Session, signOut } from '../session/sessions.ts'
import { SignInForm } from '../session/sign-in-page.tsx'

/** The menu of projects: switch to one, sign in with another key, or sign out. */
export function ProjectMenu() {
  const queries = useQueryClient()
  const { session, sessions, use } = useSession()
  const [isAdding, setAdding] = useState(false)
  const leave = async () => {
    await signOut(session)
    forgetKey(session.key_id)
    keepDraft(session.key_id, null)
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] === session.key_id })
    await queries.invalidateQueries({ queryKey: sessionsKey })
  }
  const enter = (entered: Session) => {
    setAdding(false)
    use(entered)
    void queries.invalidateQueries({ queryKey: sessionsKey })
  }
  return (
    <>
      <MenuTrigger>
        <Button className="button quiet">
          {session.project_name} <span aria-hidden="true">▾</span>
        </Button>
        <Popover className="popover" placement="bottom end">
          <Menu className="menu" aria-label="Project and session">
            <MenuSection aria-label="Projects">
              {sessions.map((each) => (
                <MenuItem key={each.key_id} id={each.key_id} textValue={each.project_name} onAction={() => use(each)}>
                  <span>{each.project_name}</span>{' '}
                  <span className="muted">
                    <Foreign>{each.key_name}</Foreign>
                  </span>
                </MenuItem>
              ))}
            </MenuSection>
            <MenuSection aria-label="Session">
              <MenuItem onAction={() => setAdding(true)}>Sign in with another key</MenuItem>
              <MenuItem onAction={() => void leave()}>Sign out of {session.project_name}</MenuItem>
            </MenuSection>
          </Menu>
        </Popover>
      </MenuTrigger>
      <Modal className="modal" isOpen={isAdding} onOpenChange={setAdding} isDismissable>
        <Dialog className="dialog">
          <Heading slot="title">Sign in with another key</Heading>
          <SignInForm onSignedIn={enter} />
        </Dialog>
      </Modal>
    </>
  )
}
