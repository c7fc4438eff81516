/** A request in the words of one client. */
export interface ClientLine {
  /** The name of the client: `Python`. */
  readonly client: string
  readonly text: string
}

/** Shows the lines that make the same request with each client. */
export function ClientLines({ lines }: { readonly lines: readonly ClientLine[] }) {
  return lines.map(({ client, text }) => (
    <div key={client}>
      <h3>{client}</h3>
      <pre className="wrapped">{text}</pre>
    </div>
  ))
}
