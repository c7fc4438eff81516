import type { ClientLine } from './client-line.ts'

/** Shows the lines that make the same request with each client. */
export function ClientLines({ lines }: { readonly lines: readonly ClientLine[] }) {
  return lines.map(({ client, text }) => (
    <div key={client}>
      <h3>{client}</h3>
      <pre className="wrapped">{text}</pre>
    </div>
  ))
}
