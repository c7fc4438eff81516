import { Button } from 'react-aria-components'
import { Frame } from '../parts/frame.tsx'
import type { Session } from './sessions.ts'

interface LinkQuestionProps {
  /** The session that the browser has. */
  readonly session: Session
  readonly onAnswer: (isAllowed: boolean) => void
}

/** Asks a person who is signed in whether a link may sign in with another key. */
export function LinkQuestion({ session, onAnswer }: LinkQuestionProps) {
  return (
    <Frame label="Sign in by this link?">
      <h1>Sign in by this link?</h1>
      <p>
        You are signed in to the project {session.project_name} with the key {session.key_name}. The link may be of
        another key and another project. Sign in only if you made it yourself: <code>holt console</code> makes one.
      </p>
      <div className="actions end">
        <Button className="button" onPress={() => onAnswer(false)}>
          Stay in {session.project_name}
        </Button>
        <Button className="button primary" onPress={() => onAnswer(true)}>
          Sign in
        </Button>
      </div>
    </Frame>
  )
}
