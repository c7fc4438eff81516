import { Button } from 'react-aria-components'
import { Foreign } from '../parts/foreign.tsx'
import { Frame } from '../parts/frame.tsx'
import type { Session } from './sessions.ts'

interface LinkQuestionProps {
  /** The session that the browser has; null if there is none. */
  readonly session: Session | null
  readonly onAnswer: (isAllowed: boolean) => void
}

/**
 * Asks whether a link may sign in: a person who is signed in with another key, or one whose browser
 * does not tell that a person has opened the link.
 */
export function LinkQuestion({ session, onAnswer }: LinkQuestionProps) {
  return (
    <Frame label="Sign in by this link?">
      <h1>Sign in by this link?</h1>
      {session === null ? (
        <p>
          A page of another site may have opened this link. Its key and project may be of somebody else, who would see
          what you do there.
        </p>
      ) : (
        <p>
          You are signed in to the project {session.project_name} with the key <Foreign>{session.key_name}</Foreign>.
          The link may be of another key and another project.
        </p>
      )}
      <p>
        Sign in only if you made it yourself: <code>holt console</code> makes one.
      </p>
      <div className="actions end">
        <Button className="button" onPress={() => onAnswer(false)}>
          {session === null ? 'Do not sign in' : `Stay in ${session.project_name}`}
        </Button>
        <Button className="button primary" onPress={() => onAnswer(true)}>
          Sign in
        </Button>
      </div>
    </Frame>
  )
}
