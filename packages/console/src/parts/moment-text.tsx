import { spanText } from './spans.ts'

interface MomentProps {
  /** RFC 3339. */
  readonly at: string
  /** The present time, in milliseconds. */
  readonly now: number
}

/** Shows how long ago something was, or how far ahead it is. Its title has the exact time. */
export function Moment({ at, now }: MomentProps) {
  const ms = Date.parse(at) - now
  return (
    <time dateTime={at} title={at}>
      {ms > 0 ? `in ${spanText(ms)}` : `${spanText(-ms)} ago`}
    </time>
  )
}
