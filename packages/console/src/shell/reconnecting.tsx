import { useIsAway } from '../service/connection.ts'

/** Says that the service is away. The pages stay as they are, and continue when it is back. */
export function Reconnecting() {
  const isAway = useIsAway()
  return (
    <div className="reconnecting" role="status" hidden={!isAway}>
      {isAway ? 'The service does not answer. Reconnecting…' : ''}
    </div>
  )
}
