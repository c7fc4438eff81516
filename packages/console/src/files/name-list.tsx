import { writtenOut } from '@holt/sdk'

/** The maximum number of names that a list shows. */
const mostShown = 10

/** A list of paths or names, the first of many. */
export function NameList({ names }: { readonly names: readonly string[] }) {
  return (
    <ul className="names">
      {names.slice(0, mostShown).map((name) => (
        <li key={name}>
          <bdi>{writtenOut(name)}</bdi>
        </li>
      ))}
      {names.length > mostShown ? <li className="muted">and {names.length - mostShown} more</li> : null}
    </ul>
  )
}
